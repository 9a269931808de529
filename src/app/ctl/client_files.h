// Reads the files that identify batonctl and the nodes to each other: certificates, keys, tokens.
//
// Any thread. Blocks as long as the file system, or the writer of a pipe, does. The only error is
// kInvalidArgument. If a file can't be read or is empty, the message names it and says why. If a
// PEM text is wrong, the message names the text (such as "client key"), but not the file.
#pragma once

#include <memory>
#include <string>

#include "app/ctl/ctl.h"
#include "base/pem.h"
#include "baton/credentials.h"
#include "baton/result.h"

namespace baton::app {

/// Reads the files that `tls` names, at most 1 MiB each, and checks that they belong together
/// (CheckPem). The text of a file that `tls` does not name is empty.
Result<PemTexts> ReadClientPems(const ClientTls& tls);
/// Returns credentials that trust only servers with one of the names in `tls.servers`, as a Router
/// does. They follow changes of the files (GroupCredentials::FromFiles). Also kInvalidArgument:
/// `tls.ca` is empty, `tls.name` is given, or GroupCredentials refuses the names. Throws
/// std::system_error if the system gives no thread.
Result<std::shared_ptr<const GroupCredentials>> CredentialsFor(const ClientTls& tls);

/// Reads a token: one line of 1 to 4,096 visible ASCII characters. Drops line ends at its end.
/// Refuses a file that its group may write or execute, or that other users may use in any way. Its
/// group may read it. What the file's owner may do does not matter.
Result<std::string> ReadToken(const std::string& path);

}  // namespace baton::app
