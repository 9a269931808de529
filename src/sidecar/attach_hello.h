// The hello of sidecar.proto, by which an application asks to attach. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "baton/v1/sidecar.pb.h"
#include "sidecar/attachment.h"

namespace baton::sidecar {

/// The version of sidecar.proto's rules that this node keeps.
inline constexpr std::uint32_t kProtocol = 1;

/// Returns why a node of `group` refuses the hello, also while no application is attached. nullopt:
/// there is no such reason. `now`: the node's CLOCK_BOOTTIME.
std::optional<Refusal> CheckHello(const v1::AttachHello& hello, const std::string& group,
                                  TimePoint now);

}  // namespace baton::sidecar
