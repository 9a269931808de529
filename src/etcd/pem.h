// What PEM texts must be like before a connection is made with them. Pure, thread-safe.
#pragma once

#include "baton/options.h"
#include "baton/result.h"

namespace baton::etcd {

/// Of the credentials' PEM texts (empty: none): the CA holds one certificate or more, certificate
/// and key come together, can be read without a password, and belong to each other. Trust, names
/// and dates are left to the handshake. kInvalidArgument: one line that says which does not hold.
Status CheckPem(const EtcdCredentials& credentials);

}  // namespace baton::etcd
