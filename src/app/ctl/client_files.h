// The files with which batonctl says who it is: certificates, keys and tokens.
//
// Blocking. kInvalidArgument: a file can't be used; the message names it and says why.
#pragma once

#include <memory>
#include <string>

#include "app/ctl/ctl.h"
#include "base/pem.h"
#include "baton/credentials.h"
#include "baton/result.h"

namespace baton::app {

/// Reads the files that are given, and checks that they belong together.
Result<PemTexts> ReadClientPems(const ClientTls& tls);
/// Credentials that believe the servers of `tls.servers` alone, as a Router does.
Result<std::shared_ptr<const GroupCredentials>> CredentialsFor(const ClientTls& tls);

/// Reads a token: one line of at most 4,096 visible ASCII characters. Refuses a file that all users
/// may read or that its group may write, because others may have that token, too.
Result<std::string> ReadToken(const std::string& path);

}  // namespace baton::app
