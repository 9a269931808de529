// The identity of a server in tests.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/pem.h"
#include "base/server_identity.h"
#include "lab/certificates.h"

namespace baton {

/// The certificate "server" of an authority, for servers that treat clients like this: with kNone
/// they have no authority for clients. `alternatives`: see Issuer::Issue. Null after a failure,
/// which fails the test.
inline std::shared_ptr<ServerIdentity> TestIdentity(const lab::Issuer& issuer,
                                                    ClientCertificates clients,
                                                    const std::string& alternatives = "") {
  PemTexts texts = issuer.Issue("server", alternatives);
  if (clients == ClientCertificates::kNone) texts.ca.clear();
  auto made = ServerIdentity::Create(std::move(texts), clients);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return made.ok() ? *made : nullptr;
}

}  // namespace baton
