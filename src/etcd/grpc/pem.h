// Reads PEM texts before connections use them. Pure, thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "baton/options.h"
#include "baton/result.h"

namespace baton::etcd {

/// Checks the PEM texts of the credentials (an empty text counts as not given): the CA holds at
/// least one certificate; certificate and key come together, can be read without a password, and
/// belong to each other. Leaves trust, names and dates to the handshake. Error: kInvalidArgument
/// with one line that says what is wrong.
Status CheckPem(const EtcdCredentials& credentials);

/// The time in which a certificate can be used. Beyond the range of the clock: its end.
struct Validity {
  std::chrono::system_clock::time_point from{};
  std::chrono::system_clock::time_point until{};
};

/// The time in which all certificates of a PEM text are valid, since a chain needs each of them; it
/// may end before it begins. Unset: there is none, or one can't be read.
std::optional<Validity> ValidityOf(const std::string& pem);

}  // namespace baton::etcd
