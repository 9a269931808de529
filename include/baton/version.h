// The library's version. Before 1.0, a minor version may change the interface and the ABI.
//
// CMake and packaging/build-debs read the version from here. If you change it, change
// packaging/debian/changelog and packaging/helm/baton/Chart.yaml, too.
#pragma once

namespace baton {
inline constexpr const char* kVersion = "0.1.0";
}  // namespace baton
