// SPDX-License-Identifier: Apache-2.0
// What goes wrong on the device, as a status of the CUDA-Lite interface and one sentence. The C++ functions of this
// folder throw it; the C interface returns the status and keeps the sentence for facula_hb_last_error.
#pragma once

#include <stdexcept>
#include <string>

// The library shows what the backend uses of it, and nothing else.
#define FC_HB_API __attribute__((visibility("default")))

namespace fc::hb {

class FC_HB_API Error : public std::runtime_error {
 public:
  Error(int status, const std::string& what) : std::runtime_error(what), status_(status) {}
  int status() const { return status_; }  // HB_MC_FAIL and the others of bsg_manycore_errno.h

 private:
  int status_;
};

FC_HB_API std::string format(const char* form, ...) __attribute__((format(printf, 1, 2)));

}  // namespace fc::hb
