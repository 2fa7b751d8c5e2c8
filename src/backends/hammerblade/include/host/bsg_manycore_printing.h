/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BSG_MANYCORE_PRINTING_H
#define BSG_MANYCORE_PRINTING_H

#include <stdio.h>

#define bsg_pr_err(...) fprintf(stderr, "BSG ERR:   " __VA_ARGS__)
#define bsg_pr_warn(...) fprintf(stderr, "BSG WARN:  " __VA_ARGS__)
#define bsg_pr_info(...) fprintf(stderr, "BSG INFO:  " __VA_ARGS__)
#define bsg_pr_test_info(...) fprintf(stderr, "BSG INFO:  " __VA_ARGS__)
#define bsg_pr_test_err(...) fprintf(stderr, "BSG ERR:   " __VA_ARGS__)

#endif
