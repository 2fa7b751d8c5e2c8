// SPDX-License-Identifier: Apache-2.0
// Limits of containers, from files as systems and container runtimes show them.
#include "core/control_group.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

namespace fc {

class ControlGroup : public testing::Test {
 protected:
  void SetUp() override { root = testing::TempDir() + "groups-" + std::to_string(getpid()); }
  void TearDown() override { std::filesystem::remove_all(root); }

  double quota(std::initializer_list<std::pair<const char*, const char*>> files) {
    std::filesystem::remove_all(root);
    for (const auto& [name, text] : files) {
      const std::filesystem::path path = root + "/" + name;
      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path) << text << "\n";
    }
    return cpu_quota(root);
  }
  std::string root;
};

TEST_F(ControlGroup, NoLimit) {
  EXPECT_EQ(quota({}), 0);
  EXPECT_EQ(quota({{"proc/self/cgroup", "0::/"}}), 0);
  EXPECT_EQ(quota({{"proc/self/cgroup", "0::/a"}, {"sys/fs/cgroup/a/cpu.max", "max 100000"}}), 0);
  EXPECT_EQ(quota({{"proc/self/cgroup", "1:cpu:/"},
                   {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1"},
                   {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"}}),
            0);
}

TEST_F(ControlGroup, TheTightestCounts) {
  EXPECT_EQ(quota({{"proc/self/cgroup", "0::/pods/pod1/container"},
                   {"sys/fs/cgroup/pods/cpu.max", "max 100000"},
                   {"sys/fs/cgroup/pods/pod1/cpu.max", "150000 100000"},
                   {"sys/fs/cgroup/pods/pod1/container/cpu.max", "400000 100000"}}),
            1.5);
  EXPECT_EQ(quota({{"proc/self/cgroup", "0::/"}, {"sys/fs/cgroup/cpu.max", "200000 50000"}}), 4);
}

TEST_F(ControlGroup, VersionOne) {
  EXPECT_EQ(quota({{"proc/self/cgroup", "9:memory:/\n3:cpu,cpuacct:/docker/x\n0::/"},
                   {"sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "50000"},
                   {"sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000"}}),
            0.5);
}

TEST_F(ControlGroup, Nonsense) {
  for (const char* text : {"", ":", "::", "0::", "0::x", "0::/../..", "x:cpu:", "0:,,:/a", "0:cpu,cpu,:/a//"})
    EXPECT_EQ(quota({{"proc/self/cgroup", text}, {"sys/fs/cgroup/a/cpu.max", "-3 0"}}), 0) << text;
  for (const char* text : {"", "x", "0 0", "-1 100000", "100000", "100000 x", "1e400 -1", "nan nan"})
    EXPECT_EQ(quota({{"proc/self/cgroup", "0::/a"}, {"sys/fs/cgroup/a/cpu.max", text}}), 0) << text;
}

TEST(ControlGroupHere, CanBeAsked) { EXPECT_GE(cpu_quota(), 0); }

}  // namespace fc
