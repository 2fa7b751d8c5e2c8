/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that host programs written for CUDA-Lite make with these names. */
#ifndef BSG_MANYCORE_REGRESSION_H
#define BSG_MANYCORE_REGRESSION_H

#include <stdio.h>

#include "bsg_manycore_errno.h"
#include "bsg_manycore_printing.h"

#define BSG_MANYCORE_CALL(call)                                        \
  {                                                                    \
    int status_of_call = (call);                                       \
    if (status_of_call != HB_MC_SUCCESS) {                             \
      bsg_pr_err("'%s': %s\n", #call, hb_mc_strerror(status_of_call)); \
      return status_of_call;                                           \
    }                                                                  \
  }
#define BSG_CUDA_CALL(call) BSG_MANYCORE_CALL(call)

#endif
