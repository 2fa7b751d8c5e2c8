// SPDX-License-Identifier: Apache-2.0
// Preloaded into a program that is profiled (`facula profile --so`): each thread has a timer of its own CPU time, and
// its signal finds out where the thread is. FACULA_SAMPLER=FOLDER:NANOSECONDS says where to write and how often to
// look.
//
// Such timers fire at ticks of the kernel's clock, 250 a second on many machines. Where that is too seldom, each thread
// has a perf event of its time, whose clock is of high resolution, unless the system forbids that. It is told what the
// thread does outside of the kernel, and what it does inside is left to the timer: a tick that finds the thread there
// adds to its system time. Samples stand for all of the thread's time: each for what passed since those before. The
// event is made by the timer's first signal: threads and children that live shorter do not pay for it.
//
// The timer's signal is SIGURG, because its default is to be ignored: one that arrives while the program replaces
// itself by another does no harm. The event's is SIGTRAP, which the system sends on its way out of the timer's
// interrupt. Older systems need a second interrupt for it, which costs a virtual machine as much as the first; there it
// is SIGURG too, and who may look into the kernel is told everything by the event.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sampler/own_signals.h"
#include "sampler/python_frames.h"
#include "sampler/store.h"
#include "sampler/unwind.h"

extern "C" void* __libc_stack_end;

namespace fc::sampler {

namespace {

constexpr int kSignal = SIGURG, kEventSignal = SIGTRAP;
constexpr size_t kDeepest = 512;
constexpr uint64_t kEventData = 0x46414353414D5031;  // in our SIGTRAPs, also of a program that this one has replaced

// What a thread needs while it takes a sample. Mapped by its first one.
struct Scratch {
  Unwinder unwinder;
  Frame frames[kDeepest];
  PythonStack python;
  // The last sample's nodes, outermost first: the next one shares most of them.
  struct {
    uint64_t value;
    uint32_t ref, node;
  } last[kDeepest + PythonStack::kMost + 1];
  uint32_t last_root;
  uint32_t root;     // the thread's record
  uint32_t process;  // whose root it is: a fork's child has another
};

Store store;
Python python;
uint32_t period_ns;
bool running;
bool seldom;                        // the kernel's clock ticks less often than we are to look
bool trapping;                      // events may send SIGTRAP
std::atomic<uint32_t> unloaded{1};  // counts calls of dlclose
pthread_key_t at_thread_end;
int (*real_pthread_create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

#define FC_THREAD_LOCAL thread_local __attribute__((tls_model("initial-exec")))
FC_THREAD_LOCAL Scratch* scratch;
FC_THREAD_LOCAL uint64_t stack_end;  // 0: not known, then only the innermost frame is read
FC_THREAD_LOCAL timer_t timer;
FC_THREAD_LOCAL void* handler_stack;
FC_THREAD_LOCAL bool timed, busy, tried;
FC_THREAD_LOCAL struct {
  int file = -1;
  bool inside;       // it looks into the kernel as well
  bool traps;        // its signal is SIGTRAP
  bool slow;         // the timer is
  uint64_t id;       // tells whether the file is still ours
  uint64_t counted;  // of the thread's time, what samples stand for
  uint64_t system;   // the thread's system time at the last tick
  uint32_t unseen;   // ticks since the event's last signal that were the event's to see
  uint32_t quiet;    // ticks that did not find the thread in the kernel
  uint32_t signals;
} event;

uint64_t time_of(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}
uint64_t now() { return time_of(CLOCK_THREAD_CPUTIME_ID); }  // not what others do meanwhile

// The kernel's numbers of a thread's clocks: exact time, ticks outside of the kernel, all ticks.
enum : int { kAllTicks, kUserTicks, kExact };
clockid_t clock_of(pid_t thread, int which) {
  constexpr clockid_t kPerThread = 4;
  return (~thread << 3) | kPerThread | which;
}
uint64_t system_time() { return time_of(clock_of(0, kAllTicks)) - time_of(clock_of(0, kUserTicks)); }

uint32_t root_of(Scratch& s) {
  const auto process = static_cast<uint32_t>(this_process);
  if (s.root && s.process == process) return s.root;
  const auto thread = static_cast<uint32_t>(syscall(SYS_gettid));
  char name[16] = {};
  prctl(PR_GET_NAME, name);
  Record* r = store.reserve(Kind::Thread, 0, 0, uint64_t{process} << 32 | thread, sizeof name);
  if (!r) return 0;
  memcpy(r->payload(), name, sizeof name);
  s.process = process;
  return s.root = store.publish(r);
}

uint32_t object_of(const link_map* map) {
  const char* name = map->l_name && *map->l_name ? map->l_name : store.header().program;
  const size_t length = strlen(name);
  uint64_t sum = length;
  for (size_t i = 0; i < length; ++i) sum = sum * 31 + static_cast<uint8_t>(name[i]);
  const uint32_t parts = hash(sum, reinterpret_cast<uint64_t>(map)) | 1;
  if (const uint32_t id = store.find(Kind::Object, 0, parts, map->l_addr)) return id;
  Record* r = store.reserve(Kind::Object, 0, parts, map->l_addr, length + 1);
  if (!r) return 0;
  memcpy(r->payload(), name, length + 1);
  return store.publish(r);
}

// Adds the stack to the tree, from the thread's first function inwards. Each run of the interpreter's loop stands for
// the Python frames from the one that C called to the last one that it called itself.
uint32_t add_stack(Scratch& s, size_t frames) {
  uint32_t node = root_of(s);
  size_t depth = 0;
  bool shared = s.last_root == node;
  s.last_root = node;
  auto enter = [&](Kind kind, uint32_t ref, uint64_t value) {
    auto& last = s.last[depth++];
    shared = shared && last.value == value && last.ref == ref;
    if (!shared) last = {value, ref, store.find_or_add(kind, node, ref, value)};
    node = last.node;
  };
  size_t left = s.python.size;
  for (size_t i = frames; i-- > 0 && node;) {
    const Frame& f = s.frames[i];
    if (left && python.in_loop(f.pc)) {
      bool first = true;
      for (; left && node && (first || !s.python.frames[left - 1].entry); --left, first = false) {
        const PythonFrame& p = s.python.frames[left - 1];
        enter(Kind::Python, p.record, uint64_t{p.offset} * 2 + p.entry);
      }
    } else {
      enter(Kind::Native, f.object, f.offset);
    }
  }
  s.last[depth].node = 0, s.last[depth].value = ~uint64_t{0};
  return node;
}

constexpr uint32_t kMeasured = 16;  // one in so many of an event's signals reads the clock: that is a system call

// `start`: the time when the signal came, or 0. `like`: how many samples its duration stands for.
void take(const ucontext_t& context, uint32_t ticks, uint64_t start, uint32_t like) {
  if (!scratch) {
    void* mapped = mmap(nullptr, sizeof(Scratch), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
      store.header().lost += ticks;
      return;
    }
    scratch = static_cast<Scratch*>(mapped);
  }
  Scratch& s = *scratch;
  const greg_t* g = context.uc_mcontext.gregs;
  constexpr int kOrder[kRegisters] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                      REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  Registers at;
  for (int i = 0; i < kRegisters; ++i) at.of[i] = static_cast<uint64_t>(g[kOrder[i]]);
  // A stack of the program's own making (coroutines, an alternate signal stack) ends nobody knows where.
  constexpr uint64_t kLargestStack = uint64_t{1} << 32;
  const uint64_t sp = at.of[Rsp];
  const bool known = sp < stack_end && stack_end - sp < kLargestStack;
  bool complete = false;
  s.unwinder.prepare(unloaded.load(std::memory_order_relaxed), object_of);
  const size_t n = s.unwinder.walk(at, known ? stack_end : sp, s.frames, kDeepest, complete);
  s.python.size = 0;
  if (python.found() && known) python.read(store, sp, stack_end, s.python);
  const uint32_t node = add_stack(s, n);
  Header& h = store.header();
  if (node) {
    store.at(node)->ticks += ticks;
    h.ticks += ticks;
  } else {
    h.lost += ticks;
  }
  ++h.samples;
  h.cut += !complete;
  if (start) h.handler_ns += (now() - start) * like;
}

// Periods that have passed and that no sample stands for yet.
uint32_t not_counted(uint64_t time) {
  time += period_ns / 2;
  const uint64_t periods = time > event.counted ? (time - event.counted) / period_ns : 0;
  event.counted += periods * period_ns;
  return static_cast<uint32_t>(periods);
}

// How many periods a signal of the event stands for. What ticks have not found in the kernel after this long, because
// others took the processor at each, counts here. `time` may be 0: not known.
uint32_t at_event(uint64_t time) {
  constexpr uint64_t kLongest = 32'000'000;
  if (event.file < 0) return 0;  // it was blocked until now
  event.unseen = 0;
  if (event.inside || time > event.counted + kLongest) return not_counted(time);
  event.counted += period_ns;
  return 1;
}

bool set_timer(timer_t which, uint64_t interval_ns) {
  itimerspec every = {};
  every.it_interval.tv_sec = static_cast<time_t>(interval_ns / 1'000'000'000);
  every.it_interval.tv_nsec = static_cast<long>(interval_ns % 1'000'000'000);
  every.it_value = every.it_interval;
  return timer_settime(which, 0, &every, nullptr) == 0;
}

bool start_timer(clockid_t clock, pid_t thread, timer_t& made) {
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = kSignal;
  event.sigev_value.sival_ptr = &store;
  event._sigev_un._tid = thread;
  return timer_create(clock, &event, &made) == 0 && set_timer(made, period_ns);
}

// While the thread is not in the kernel, the timer has little to look for: whether it is again, and whether the program
// has closed the event's file.
void pace(bool slow) {
  constexpr uint64_t kTimes = 16;
  event.slow = slow;
  event.quiet = event.unseen = 0;
  set_timer(timer, (slow ? kTimes : 1) * period_ns);
}

void start_event(uint64_t time) {
  tried = true;
  perf_event_attr what = {};
  what.size = sizeof what;
  what.type = PERF_TYPE_SOFTWARE;
  what.config = PERF_COUNT_SW_TASK_CLOCK;
  what.sample_period = period_ns;
  what.disabled = what.exclude_hv = 1;
  if (trapping && have_signal(kEventSignal)) {
    // Not in the kernel: while the program replaces itself, the signal would wait and end the next program.
    what.sigtrap = what.remove_on_exec = what.exclude_kernel = 1;
    what.sig_data = kEventData;
  }
  auto open = [&] { return static_cast<int>(syscall(SYS_perf_event_open, &what, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)); };
  int made = open();
  if (made < 0) what.exclude_kernel = 1, made = open();
  if (made < 0) return;
  const int file = fcntl(made, F_DUPFD_CLOEXEC, kFirstFile);
  close(made);
  f_owner_ex self = {F_OWNER_TID, static_cast<pid_t>(syscall(SYS_gettid))};
  event = {file, !what.exclude_kernel, static_cast<bool>(what.sigtrap), false, 0, time, system_time(), 0, 0, 0};
  const auto signals = [&] {
    return event.traps || (fcntl(file, F_SETSIG, kSignal) == 0 && fcntl(file, F_SETOWN_EX, &self) == 0 &&
                           fcntl(file, F_SETFL, O_ASYNC) == 0);
  };
  if (file >= 0 &&
      (ioctl(file, PERF_EVENT_IOC_ID, &event.id) != 0 || !signals() || ioctl(file, PERF_EVENT_IOC_ENABLE, 0) != 0)) {
    close(file);
    event.file = -1;
  }
  if (event.file >= 0) pace(event.inside);
}

void stop_event() {
  uint64_t id = 0;
  const int file = event.file;
  event.file = -1;
  if (file >= 0 && ioctl(file, PERF_EVENT_IOC_ID, &id) == 0 && id == event.id) close(file);
}

// How many periods the timer's signal stands for, which says that it has seen so many.
uint32_t at_tick(uint64_t time, uint32_t seen) {
  if (event.file < 0) {
    if (timed && seldom && !tried && !busy) start_event(time);
    return seen;
  }
  const uint64_t system = event.inside ? event.system : system_time();
  if (system != event.system) {
    event.system = system;
    event.quiet = 0;
    if (!event.slow) return not_counted(time);
    pace(false);  // which of the ticks since the last signal it was is not known: the next such one stands for all
    return 0;
  }
  constexpr uint32_t kQuiet = 32;
  const uint32_t too_long = event.slow ? 2 : 8;
  if (++event.unseen == too_long) {
    event.file = -1;  // the program has closed all files: from now on the timer is alone
    set_timer(timer, period_ns);
    return not_counted(time);
  }
  if (!event.slow && ++event.quiet == kQuiet) pace(true);
  return 0;
}

bool from_event(int number, const siginfo_t& info) {
  if (number == kSignal) return event.file >= 0 && info.si_code == POLL_IN && info.si_fd == event.file;
  constexpr int kTrapPerf = 6;  // asm-generic/siginfo.h, whose names clash with the C library's
  uint64_t data;
  memcpy(&data, reinterpret_cast<const char*>(&info) + offsetof(siginfo_t, si_addr) + sizeof info.si_addr, sizeof data);
  return info.si_code == kTrapPerf && data == kEventData;
}

void on_signal(int number, siginfo_t* info, void* context) {
  const bool from_timer = number == kSignal && info->si_code == SI_TIMER && info->si_value.sival_ptr == &store;
  if (!from_timer && !from_event(number, *info)) return hand_on(number, info, context);
  const int kept = errno;
  const bool always = from_timer || event.inside;
  const uint64_t time = always || event.signals++ % kMeasured == 0 ? now() : 0;
  const auto seen = static_cast<uint32_t>(from_timer && info->si_overrun > 0 ? 1 + info->si_overrun : 1);
  const uint32_t ticks = from_timer ? at_tick(time, seen) : at_event(time);
  if (ticks && !busy) {
    busy = true;
    take(*static_cast<ucontext_t*>(context), ticks, time, always ? 1 : kMeasured);
    busy = false;
  } else {
    store.header().lost += ticks;
  }
  errno = kept;
}

// A stack of the handler's own: the thread's may be elsewhere (dnnl_sgemm's kernels use the heap as theirs).
constexpr size_t kHandlerStack = 128 << 10;
void give_stack() {
  stack_t now = {};
  if (sigaltstack(nullptr, &now) != 0 || !(now.ss_flags & SS_DISABLE)) return;  // the program has one
  void* memory = mmap(nullptr, kHandlerStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t own = {};
  own.ss_sp = memory;
  own.ss_size = kHandlerStack;
  if (sigaltstack(&own, nullptr) == 0) handler_stack = memory;
  else munmap(memory, kHandlerStack);
}
void take_stack() {
  stack_t now = {};
  if (handler_stack && sigaltstack(nullptr, &now) == 0 && now.ss_sp == handler_stack) {
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    if (sigaltstack(&none, nullptr) == 0) munmap(handler_stack, kHandlerStack);
  }
  handler_stack = nullptr;
}

void start_on_this_thread() {
  give_stack();
  timed = start_timer(CLOCK_THREAD_CPUTIME_ID, static_cast<pid_t>(syscall(SYS_gettid)), timer);
  stop_event();  // a child of a fork has its parent's
  tried = false;
}

void stop_on_this_thread(void*) {
  if (timed) timer_delete(timer);
  timed = false;
  stop_event();
  busy = true;  // a signal that is still on its way finds nothing to do
  if (scratch) munmap(scratch, sizeof(Scratch));
  scratch = nullptr;
  take_stack();
}

struct Start {
  void* (*function)(void*);
  void* argument;
};

void* run_thread(void* given) {
  const Start start = *static_cast<Start*>(given);
  free(given);
  // Frames above this one are the C library's, a few hundred bytes; what describes the thread lies above them.
  stack_end = (reinterpret_cast<uint64_t>(__builtin_frame_address(0)) + 1024) & ~uint64_t{7};
  start_on_this_thread();
  pthread_setspecific(at_thread_end, &store);
  return start.function(start.argument);
}

// Threads that were there before us.
void start_on_others() {
  const auto self = static_cast<pid_t>(syscall(SYS_gettid));
  DIR* tasks = opendir("/proc/self/task");
  if (!tasks) return;
  while (const dirent* entry = readdir(tasks)) {
    const auto thread = static_cast<pid_t>(strtol(entry->d_name, nullptr, 10));
    timer_t made;
    if (thread > 0 && thread != self) start_timer(clock_of(thread, kExact), thread, made);
  }
  closedir(tasks);
}

void start_in_child() {
  this_process = getpid();
  signals_of_child();
  start_on_this_thread();
}

// Since Linux 6.12 an event's SIGTRAP takes no interrupt of its own. Before that there is nothing to be gained, and it
// could end a thread that blocks it.
bool traps_cost_little() {
  utsname system;
  int major = 0, minor = 0;
  return uname(&system) == 0 && sscanf(system.release, "%d.%d", &major, &minor) == 2 &&
         (major > 6 || (major == 6 && minor >= 12));
}

__attribute__((constructor)) void start() {
  const char* given = getenv("FACULA_SAMPLER");
  const char* colon = given ? strrchr(given, ':') : nullptr;
  char folder[3072];
  if (!colon || static_cast<size_t>(colon - given) >= sizeof folder) return;
  memcpy(folder, given, static_cast<size_t>(colon - given));
  folder[colon - given] = 0;
  period_ns = static_cast<uint32_t>(strtoul(colon + 1, nullptr, 10));
  if (period_ns < 10'000 || pthread_key_create(&at_thread_end, stop_on_this_thread) != 0) return;
  if (!store.open(folder, period_ns)) return;
  this_process = getpid();
  python.find(store.header());
  timespec tick = {};
  seldom = clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 && (tick.tv_sec || tick.tv_nsec > period_ns);
  running = true;
  stack_end = reinterpret_cast<uint64_t>(__libc_stack_end) + 8;
  sigset_t ours;
  sigemptyset(&ours);
  sigaddset(&ours, kSignal);
  trapping = seldom && traps_cost_little();
  if (trapping) sigaddset(&ours, kEventSignal), take_signal(kEventSignal, on_signal, ours);
  take_signal(kSignal, on_signal, ours);
  pthread_atfork(nullptr, nullptr, start_in_child);
  start_on_this_thread();
  start_on_others();
}

}  // namespace

}  // namespace fc::sampler

// Every thread starts through here. Without a profile to write it is the C library's.
extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attributes,
                                                                     void* (*function)(void*), void* argument) {
  using namespace fc::sampler;
  if (!real_pthread_create)
    real_pthread_create = reinterpret_cast<decltype(real_pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  auto* start = running ? static_cast<Start*>(malloc(sizeof(Start))) : nullptr;
  if (!start) return real_pthread_create(thread, attributes, function, argument);
  *start = {function, argument};
  const int failed = real_pthread_create(thread, attributes, run_thread, start);
  if (failed) free(start);
  return failed;
}

extern "C" __attribute__((visibility("default"))) int dlclose(void* library) {
  static auto* real = reinterpret_cast<int (*)(void*)>(dlsym(RTLD_NEXT, "dlclose"));
  ++fc::sampler::unloaded;
  return real(library);
}
