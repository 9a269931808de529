// DemoSecurity: the part of a secure demo about certificates. It shows that callers without a
// certificate are refused, that a reader may only read, and that all certificates can be replaced
// while streams and calls go on.
//
// One thread and exceptions: see DemoStage.
#pragma once

#include <string>
#include <vector>

#include "app/demo/stage.h"
#include "runtime/control.h"

namespace baton::app {

class DemoSecurity : public DemoStage {
 protected:
  using DemoStage::DemoStage;

  /// Runs the whole part. REQUIRES: the demo is secure; a node runs; no node is stopped.
  void ReplaceCertificates();

 private:
  std::vector<NodeIndex> Running() const;
  void ClaimRefused();
  void ClaimReaderReads();
  void Order(runtime::PolicyRequest::Verb verb);
  /// The serial number of the certificate that each port of etcd and of the nodes shows now; empty:
  /// there was no handshake.
  std::vector<std::string> Serials() const;
  void ClaimReplaced(const std::vector<std::string>& before);
};

}  // namespace baton::app
