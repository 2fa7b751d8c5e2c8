// SPDX-License-Identifier: Apache-2.0
// Calls tests/library_profile/work.cpp a known number of times; the argument says what else to do.
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
int work_add(int, int);
double work_mix(double, int, float, double);
double spin_hot(double);
void spin_blind(double);
void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
void cblas_sgemm64_(int, int, int, int64_t, int64_t, int64_t, float, const float*, int64_t, const float*, int64_t,
                    float, float*, int64_t);
void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
            const float*, const int*, const float*, float*, const int*);
void cblas_sgemv(int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
}

static int wrong;
static void expect(bool held) { wrong += !held; }

__attribute__((noinline)) void first(int n) {
  for (int i = 0; i < n; ++i) expect(work_add(i, 1) == i + 1);
}
__attribute__((noinline)) void second(int n) {
  for (int i = 0; i < n; ++i) expect(work_mix(0.5, i, 2.0F, 0.25) == 0.25 + 2.0 * i);
}
__attribute__((noinline)) void products() {
  const float a = 2, b = 3;
  float c = 7;
  for (int i = 0; i < 5; ++i, c = 7) {
    cblas_sgemm(101, 111, 112, 4, 5, 6, 10, &a, 8, &b, 9, 100, &c, 11);
    expect(c == 4 + 5 + 6 + 8 + 9 + 11 + 20 + 300 + 7);
  }
  cblas_sgemm64_(102, 112, 111, 40, 50, 60, 10, &a, 8, &b, 9, 100, &c, 11);
  expect(c == 40 + 50 + 60 + 8 + 9 + 11 + 20 + 300 + 7);
  const int m = 14, n = 15, k = 16, l = 1;
  const float alpha = 10, beta = 100;
  c = 7;
  sgemm_("t", "N", &m, &n, &k, &alpha, &a, &l, &b, &l, &beta, &c, &l);
  expect(c == 14 + 15 + 16 + 3 + 20 + 300 + 7);
  c = 7;
  cblas_sgemv(101, 112, 30, 20, 10, &a, 1, &b, 2, 100, &c, 3);
  expect(c == 30 + 20 + 2 + 1 + 3 + 1 + 20 + 300 + 7);
}
__attribute__((noinline)) void outer(double seconds) {
  spin_hot(0.75 * seconds);
  spin_blind(0.25 * seconds);
}

static void* in_thread(void*) {
  first(250);
  spin_hot(0.05);
  return nullptr;
}

static void trap() { __asm__ volatile("int3"); }

// The sampler's own signals, used by the program.
static volatile sig_atomic_t seen = 0;
static void use_signals(const char* self) {
  const int numbers[] = {SIGURG, SIGTRAP};
  for (const int number : numbers) {
    seen = 0;
    expect(signal(number, [](int) { seen = seen + 1; }) == SIG_DFL);
    raise(number);
    if (number == SIGTRAP) trap();
    spin_hot(0.05);
    expect(seen == (number == SIGTRAP ? 2 : 1));
    struct sigaction once = {}, before = {};
    once.sa_flags = SA_RESETHAND | SA_SIGINFO;
    once.sa_sigaction = [](int, siginfo_t* info, void*) { seen = seen + (info->si_code == SI_TKILL ? 10 : 100); };
    sigaddset(&once.sa_mask, SIGUSR1);
    expect(sigaction(number, &once, &before) == 0 && before.sa_flags & SA_RESTART);
    raise(number);
    expect(seen == (number == SIGTRAP ? 12 : 11));
    expect(sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_DFL);
    expect(signal(number, SIG_IGN) == SIG_DFL);
    raise(number);
    expect(signal(number, SIG_DFL) == SIG_IGN);
    spin_hot(0.05);  // samples do not end it
  }
  // Blocked, and one of them still waiting when the program replaces itself.
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  spin_hot(0.05);
  execl(self, self, "unblock", nullptr);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const bool all = !strcmp(what, "all");
  if (!strcmp(what, "unblock")) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, nullptr);
    return 0;
  }
  first(1000);
  second(500);
  products();
  if (all) {
    pthread_t threads[4];
    for (auto& t : threads) pthread_create(&t, nullptr, in_thread, nullptr);
    for (auto& t : threads) pthread_join(t, nullptr);
    if (const pid_t child = fork(); child == 0) {
      second(100);
      spin_hot(0.1);
      execl(argv[0], argv[0], "again", nullptr);
      _exit(1);
    } else {
      int status;
      waitpid(child, &status, 0);
      expect(status == 0);
    }
    outer(0.5);
  }
  if (!strcmp(what, "fail")) return 3;
  if (!strcmp(what, "crash")) spin_hot(0.05), raise(SIGSEGV);
  if (!strcmp(what, "kill")) spin_hot(0.05), raise(SIGKILL);
  if (!strcmp(what, "trap")) spin_hot(0.05), trap();
  if (!strcmp(what, "handler")) use_signals(argv[0]);
  if (wrong) fprintf(stderr, "%d wrong\n", wrong);
  return wrong ? 1 : 0;
}
