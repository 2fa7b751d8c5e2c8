// SPDX-License-Identifier: Apache-2.0
// Storages in memory that other processes see. An anonymous file is handed on by its descriptor and ends with its last
// user, however that ends. A named file needs no descriptor while it waits; its users are counted in its first bytes,
// and whoever is last removes the name. Files of the program's own are mapped as they are.
#pragma once
#include <string>

#include "core/storage.h"

namespace fc {

Ref<Storage> new_shared_storage(size_t bytes);  // anonymous
bool is_shared(const Storage& s);
// Writes through the file of anonymous shared memory, without touching the pages that are mapped here: fresh ones are
// then neither cleared nor faulted in. False where the storage is no such memory. The range must lie inside of it.
bool write_shared(const Storage& s, size_t offset, const void* from, size_t bytes);
// Moves a CPU storage into anonymous shared memory, unless it is there already. Memory that was lent is kept for the
// borrower. Nobody else may use the storage meanwhile.
void share(Storage& s);
// The descriptor of anonymous shared memory, which moves into it first if it must. The storage keeps it.
int shared_descriptor(Storage& s);
// Maps what another process's descriptor leads to, which stays the caller's. keep: so that it can be handed on.
Ref<Storage> map_descriptor(int descriptor, size_t bytes, bool keep);

// The same by name. A user of a name is counted from share_by_name (which counts the receiver, too) or map_name on.
// tracker: a descriptor that is told when the name is gone, in the words of Python's resource_tracker.
std::string share_by_name(Storage& s, int tracker);
bool has_name(const Storage& s);
Ref<Storage> map_name(const std::string& name, size_t bytes, int tracker);

// shared: writes reach the file, which is made and grows as needed. Otherwise they stay in this process.
Ref<Storage> map_file(const std::string& path, bool shared, size_t bytes);
std::string mapped_path(const Storage& s);  // of map_file; empty

}  // namespace fc
