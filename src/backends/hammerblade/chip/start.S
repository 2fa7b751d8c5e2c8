# SPDX-License-Identifier: Apache-2.0
# Where a tile begins, and begins again for each launch: it sleeps until the host has written cuda_kernel_ptr, puts the
# words at cuda_argv_ptr where a C function looks for them, calls the kernel, and the first tile of the group tells the
# host. Scratchpad and variables are as the loader put them; nothing is constructed.

  .section .text.start, "ax"
  .globl _start
  .type _start, @function
_start:
  la sp, __stack_top
  la tp, __thread_words
  la s0, cuda_kernel_ptr
  li s1, 1                      # no kernel
.Lwait:
  lr.w t0, (s0)
  bne t0, s1, .Lgo
  lr.w.aq t0, (s0)
  beq t0, s1, .Lwait
.Lgo:
  lw t1, cuda_argc
  lw t2, cuda_argv_ptr
  mv s2, sp
  addi t3, t1, -8
  blez t3, .Lregisters
  slli t4, t3, 2                # the ninth word and those behind it: on the stack, which stays a multiple of 16
  addi t4, t4, 15
  andi t4, t4, -16
  sub sp, sp, t4
  mv t5, sp
  addi t6, t2, 32
.Lstack:
  lw t4, 0(t6)
  addi t6, t6, 4
  addi t3, t3, -1
  sw t4, 0(t5)
  addi t5, t5, 4
  bnez t3, .Lstack
.Lregisters:                    # only as many as there are: the words behind are somebody else's
  li t3, 1
  blt t1, t3, .Lcall
  lw a0, 0(t2)
  li t3, 2
  blt t1, t3, .Lcall
  lw a1, 4(t2)
  li t3, 3
  blt t1, t3, .Lcall
  lw a2, 8(t2)
  li t3, 4
  blt t1, t3, .Lcall
  lw a3, 12(t2)
  li t3, 5
  blt t1, t3, .Lcall
  lw a4, 16(t2)
  li t3, 6
  blt t1, t3, .Lcall
  lw a5, 20(t2)
  li t3, 7
  blt t1, t3, .Lcall
  lw a6, 24(t2)
  li t3, 8
  blt t1, t3, .Lcall
  lw a7, 28(t2)
.Lcall:
  jalr ra, 0(t0)
  .globl __kernel_returned
__kernel_returned:
  mv sp, s2
  fence
  sw s1, 0(s0)
  lw t0, __bsg_id
  bnez t0, .Lwait
  lw t1, cuda_finish_ptr
  sw s1, 0(t1)
  j .Lwait
  .size _start, . - _start

# What the host writes before it wakes a tile.
  .section .words, "aw"
  .balign 4
  .macro hb_word name, value=0
  .globl \name
  .type \name, @object
  .size \name, 4
\name: .word \value
  .endm
  hb_word cuda_kernel_ptr, 1
  hb_word cuda_argc
  hb_word cuda_argv_ptr
  hb_word cuda_finish_ptr
  hb_word __bsg_x
  hb_word __bsg_y
  hb_word __bsg_id
  hb_word __bsg_grp_org_x
  hb_word __bsg_grp_org_y
  hb_word __bsg_grid_dim_x
  hb_word __bsg_grid_dim_y
  hb_word __bsg_tile_group_id_x
  hb_word __bsg_tile_group_id_y
  hb_word __bsg_tile_group_id
  hb_word __bsg_group_dim_x
  hb_word __bsg_group_dim_y
