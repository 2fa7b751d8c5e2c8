// SPDX-License-Identifier: Apache-2.0
// Programs that a sanitizer must stop: facula_must_crash overrun | overflow | leak | race.
// Proves that the sanitizer builds really check. Ends with 0 and "survived" where nothing checks.
#include <climits>
#include <cstdio>
#include <cstring>
#include <thread>

// Read through a volatile, so that no compiler sees the mistake coming.
static volatile int one = 1;

static int overrun() {
  char* p = new char[7 + one];
  int c = p[7 + one];
  delete[] p;
  return c;
}

static int overflow() { return INT_MAX - 1 + one + one; }

static void* volatile lost;
static int leak() {
  lost = new char[64];
  lost = nullptr;
  return 0;
}

static int shared_count;
static int race() {
  std::thread other([] { shared_count += one; });
  shared_count += one;
  other.join();
  return shared_count;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  int result = 0;
  if (!std::strcmp(what, "overrun")) result = overrun();
  else if (!std::strcmp(what, "overflow")) result = overflow();
  else if (!std::strcmp(what, "leak")) result = leak();
  else if (!std::strcmp(what, "race")) result = race();
  else return 2;
  std::printf("survived (%d)\n", result);
  return 0;
}
