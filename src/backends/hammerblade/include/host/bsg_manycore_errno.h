/* SPDX-License-Identifier: Apache-2.0 */
/* Status of the hb_mc_* functions: 0, or one of these. */
#ifndef BSG_MANYCORE_ERRNO_H
#define BSG_MANYCORE_ERRNO_H

#define HB_MC_SUCCESS 0
#define HB_MC_FAIL (-1)
#define HB_MC_TIMEOUT (-2)
#define HB_MC_UNINITIALIZED (-3)
#define HB_MC_INVALID (-4)
#define HB_MC_INITIALIZED_TWICE (-4)
#define HB_MC_NOMEM (-5)
#define HB_MC_NOIMPL (-6)
#define HB_MC_NOTFOUND (-7)
#define HB_MC_BUSY (-8)
#define HB_MC_UNALIGNED (-9)

#ifdef __cplusplus
extern "C" {
#endif

const char* hb_mc_strerror(int status);

#ifdef __cplusplus
}
#endif
#endif
