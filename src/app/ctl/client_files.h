// Reads the files by which batonctl and the nodes identify each other: certificates, keys and
// tokens.
//
// Any thread. The functions wait for the file system. If a file is a pipe, they also wait for its
// writer. The only error is kInvalidArgument. If a file can't be read or is empty, the message
// names the file and says why. If a PEM text is wrong, the message names the text (such as "client
// key"), but not the file.
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
/// does. These credentials follow changes of the files, on a thread of their own
/// (GroupCredentials::FromFiles). There are three more causes of an error: `tls.ca` is empty,
/// `tls.name` is given, or GroupCredentials refuses the names. Throws std::system_error if the
/// system gives no thread.
Result<std::shared_ptr<const GroupCredentials>> CredentialsFor(const ClientTls& tls);

/// Reads a token: one line of 1 to 4,096 visible ASCII characters. Drops line ends at its end.
/// Refuses the file if its group may write or execute it, or if all users may read, write or
/// execute it. Its group may read it. The rights of the owner do not matter.
Result<std::string> ReadToken(const std::string& path);

}  // namespace baton::app
