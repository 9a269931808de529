// DemoSecurity: the part of a secure demo about certificates. It shows three things: callers
// without a certificate are refused; a reader may only read; and all certificates can be replaced
// while streams and calls go on.
//
// For threads and exceptions, see DemoStage.
#pragma once

#include <string>
#include <vector>

#include "app/demo/stage.h"
#include "runtime/control.h"

namespace baton::app {

class DemoSecurity : public DemoStage {
 protected:
  using DemoStage::DemoStage;

  /// Runs the whole part. REQUIRES (not checked): the demo is secure; a node runs; no node is
  /// stopped.
  void ReplaceCertificates();

 private:
  std::vector<NodeIndex> Running() const;
  void ClaimRefused();
  void ClaimReaderReads();
  void Order(runtime::PolicyRequest::Verb verb);
  /// Returns the serial numbers of the certificates that the ports of etcd and of the running nodes
  /// show now. An empty text: the handshake with that port failed.
  std::vector<std::string> Serials() const;
  void ClaimReplaced(const std::vector<std::string>& before);
};

}  // namespace baton::app
