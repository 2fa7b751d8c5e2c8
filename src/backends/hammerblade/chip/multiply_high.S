# SPDX-License-Identifier: Apache-2.0
# The upper word of a product, from parts of 16 bits. Operands lie at 0(sp) and 4(sp), the result goes to 0(sp); every
# register but ra comes back as it was (multiply_high.inc keeps ra).
  .macro hb_correct other, sign_of         # an operand below zero stands for itself less 2^32
  bgez \sign_of, 1f
  sub t4, t4, \other
1:
  .endm

  .text
  .globl __hb_mulhu
  .globl __hb_mulh
  .globl __hb_mulhsu
__hb_mulhsu:
  addi sp, sp, -32
  sw t5, 24(sp)
  li t5, 1
  j .Lproduct
__hb_mulh:
  addi sp, sp, -32
  sw t5, 24(sp)
  li t5, 3
  j .Lproduct
__hb_mulhu:
  addi sp, sp, -32
  sw t5, 24(sp)
  li t5, 0
.Lproduct:
  sw t0, 0(sp)
  sw t1, 4(sp)
  sw t2, 8(sp)
  sw t3, 12(sp)
  sw t4, 16(sp)
  sw t6, 20(sp)
  lw t0, 32(sp)                 # a
  lw t1, 36(sp)                 # b
  slli t2, t0, 16
  srli t2, t2, 16               # its lower half
  slli t3, t1, 16
  srli t3, t3, 16
  mul t6, t2, t3                # low times low: the carry into the middle
  srli t6, t6, 16
  srli t0, t0, 16               # the upper halves
  srli t1, t1, 16
  mul t4, t0, t3                # upper a times lower b
  add t6, t6, t4                # at most 2^32 - 2^16: no carry
  mul t2, t2, t1                # lower a times upper b
  add t3, t6, t2                # may carry
  sltu t6, t3, t2
  slli t6, t6, 16
  srli t3, t3, 16
  mul t4, t0, t1
  add t4, t4, t3
  add t4, t4, t6
  beqz t5, .Ldone
  lw t0, 32(sp)
  lw t1, 36(sp)
  hb_correct t1, t0
  andi t5, t5, 2
  beqz t5, .Ldone
  hb_correct t0, t1
.Ldone:
  sw t4, 32(sp)
  lw t0, 0(sp)
  lw t1, 4(sp)
  lw t2, 8(sp)
  lw t3, 12(sp)
  lw t4, 16(sp)
  lw t6, 20(sp)
  lw t5, 24(sp)
  addi sp, sp, 32
  ret
