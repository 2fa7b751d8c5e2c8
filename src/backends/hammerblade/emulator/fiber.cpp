// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/emulator/fiber.h"

#include <cstdint>
#include <cstring>

#if defined(FC_SANITIZE_address)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__x86_64__)
// Saved: the registers that a called function must keep. rbx and r12 carry argument and entry to a new stack.
asm(R"(
.text
.type fc_hb_switch, @function
.hidden fc_hb_switch
.globl fc_hb_switch
fc_hb_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size fc_hb_switch, .-fc_hb_switch
.type fc_hb_begin, @function
.hidden fc_hb_begin
.globl fc_hb_begin
fc_hb_begin:
  .cfi_startproc
  .cfi_undefined rip
  movq %rbx, %rdi
  callq *%r12
  ud2
  .cfi_endproc
.size fc_hb_begin, .-fc_hb_begin
)");
#elif defined(__aarch64__)
asm(R"(
.text
.type fc_hb_switch, %function
.hidden fc_hb_switch
.globl fc_hb_switch
fc_hb_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size fc_hb_switch, .-fc_hb_switch
.type fc_hb_begin, %function
.hidden fc_hb_begin
.globl fc_hb_begin
fc_hb_begin:
  .cfi_startproc
  .cfi_undefined x30
  mov x0, x19
  blr x20
  brk #0
  .cfi_endproc
.size fc_hb_begin, .-fc_hb_begin
)");
#else
#include <ucontext.h>
#define FC_HB_UCONTEXT 1
#endif

extern "C" {
void fc_hb_switch(void** from, void* to);
void fc_hb_begin();
}

namespace fc::hb {

#ifdef FC_HB_UCONTEXT
namespace {
// The saved state lies at the stack's upper end, so that a context is one pointer here too.
void start(unsigned entry_high, unsigned entry_low, unsigned high, unsigned low) {
  auto join = [](unsigned h, unsigned l) { return (static_cast<uintptr_t>(h) << 16 << 16) | l; };
  reinterpret_cast<void (*)(void*)>(join(entry_high, entry_low))(reinterpret_cast<void*>(join(high, low)));
}
}  // namespace
#endif

void prepare(Context* context, void* stack, void* top, void (*entry)(void*), void* argument) {
  context->stack = stack;
  context->size = static_cast<size_t>(static_cast<char*>(top) - static_cast<char*>(stack));
#if defined(FC_SANITIZE_address)
  ASAN_UNPOISON_MEMORY_REGION(stack, context->size);  // frames that were given up left their marks
#endif
#if defined(__x86_64__)
  auto** sp = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t{15}) - 1;
  *sp = reinterpret_cast<void*>(&fc_hb_begin);  // rsp is a multiple of 16 when fc_hb_begin calls
  sp -= 6;
  memset(static_cast<void*>(sp), 0, 6 * sizeof *sp);
  sp[3] = reinterpret_cast<void*>(entry);
  sp[4] = argument;
  context->sp = sp;
#elif defined(__aarch64__)
  auto** sp = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t{15}) - 20;
  memset(static_cast<void*>(sp), 0, 20 * sizeof *sp);
  sp[0] = argument;
  sp[1] = reinterpret_cast<void*>(entry);
  sp[11] = reinterpret_cast<void*>(&fc_hb_begin);
  context->sp = sp;
#else
  auto* state = reinterpret_cast<ucontext_t*>((reinterpret_cast<uintptr_t>(top) - sizeof(ucontext_t)) & ~uintptr_t{15});
  getcontext(state);
  state->uc_stack.ss_sp = stack;
  state->uc_stack.ss_size = static_cast<size_t>(reinterpret_cast<char*>(state) - static_cast<char*>(stack));
  state->uc_link = nullptr;
  auto half = [](const void* p, int shift) {
    return static_cast<unsigned>(reinterpret_cast<uintptr_t>(p) >> shift >> shift);
  };
  makecontext(state, reinterpret_cast<void (*)()>(&start), 4, half(reinterpret_cast<void*>(entry), 16),
              half(reinterpret_cast<void*>(entry), 0), half(argument, 16), half(argument, 0));
  context->sp = state;
#endif
}

void switch_to(Context* from, Context* to) {
#if defined(FC_SANITIZE_address)
  __sanitizer_start_switch_fiber(&from->fake, to->stack, to->size);
#endif
#ifdef FC_HB_UCONTEXT
  ucontext_t here;
  from->sp = &here;
  swapcontext(&here, static_cast<ucontext_t*>(to->sp));
#else
  fc_hb_switch(&from->sp, to->sp);
#endif
#if defined(FC_SANITIZE_address)
  __sanitizer_finish_switch_fiber(from->fake, nullptr, nullptr);
#endif
}

void arrived([[maybe_unused]] Context* context, [[maybe_unused]] Context* from) {
#if defined(FC_SANITIZE_address)
  const void* stack;
  size_t size;
  __sanitizer_finish_switch_fiber(nullptr, &stack, &size);
  from->stack = const_cast<void*>(stack);
  from->size = size;
#endif
}

}  // namespace fc::hb
