// The hello of sidecar.proto, by which an application asks to attach. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "baton/v1/sidecar.pb.h"
#include "sidecar/attachment.h"

namespace baton::sidecar {

/// The version of sidecar.proto's rules that this node follows.
inline constexpr std::uint32_t kProtocol = 1;

/// Returns why a node of `group` refuses the hello because of its content. nullopt: nothing is
/// wrong with the content. `now`: the node's CLOCK_BOOTTIME. An empty group and a time of 0 are not
/// checked. The refusals:
///   - kOtherGroup: the hello names another group.
///   - kUnavailable: the time is more than 5 s and at most 2 minutes before `now` (a late hello).
///   - kMalformed: the time is negative, after `now`, or more than 2 minutes before `now`; the
///     protocol is not kProtocol; the client has more than 256 bytes; or the token has more than 64
///     bytes.
std::optional<Refusal> CheckHello(const v1::AttachHello& hello, const std::string& group,
                                  TimePoint now);

}  // namespace baton::sidecar
