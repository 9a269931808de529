// Reads the files by which batonctl and the nodes identify each other: certificates, keys and
// tokens.
//
// Any thread. The functions wait for the file system, and for the writer if a file is a pipe. The
// only error is kInvalidArgument. If a file can't be read or is empty, the message names it and
// says why. If a PEM text is wrong, the message names the text (such as "client key"), but not the
// file.
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
/// does. These credentials follow changes of the files (GroupCredentials::FromFiles), on a thread
/// of their own. The error can have three more reasons: `tls.ca` is empty, `tls.name` is given, or
/// GroupCredentials refuses the names. Throws std::system_error if the system gives no thread.
Result<std::shared_ptr<const GroupCredentials>> CredentialsFor(const ClientTls& tls);

/// Reads a token: one line of 1 to 4,096 visible ASCII characters. Drops line ends at its end.
/// Refuses a file that the file's group may write or execute, or that other users may read, write
/// or execute. The group may read the file. The rights of the file's owner do not matter.
Result<std::string> ReadToken(const std::string& path);

}  // namespace baton::app
