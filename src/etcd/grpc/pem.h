// CheckPem checks PEM texts before connections use them. Pure, thread-safe.
#pragma once

#include "baton/options.h"
#include "baton/result.h"

namespace baton::etcd {

/// Checks the PEM texts of the credentials (an empty text counts as not given): the CA holds at
/// least one certificate; certificate and key come together, can be read without a password, and
/// belong to each other. Leaves trust, names and dates to the handshake. Error: kInvalidArgument
/// with one line that says what is wrong.
Status CheckPem(const EtcdCredentials& credentials);

}  // namespace baton::etcd
