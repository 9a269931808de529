// DemoSecurity: the part of a secure demo that is about certificates: who gets in, who may do what,
// and new certificates for all while streams and calls go on.
//
// One thread, as DemoStage says.
#pragma once

#include <string>
#include <vector>

#include "app/demo/stage.h"
#include "runtime/control.h"

namespace baton::app {

class DemoSecurity : public DemoStage {
 protected:
  using DemoStage::DemoStage;

  /// The whole part. REQUIRES: the demo is secure.
  void ReplaceCertificates();

 private:
  std::vector<NodeIndex> Running() const;
  void ClaimRefused();
  void ClaimReaderReads();
  void Order(runtime::PolicyRequest::Verb verb);
  /// The serial number of the certificate that each port shows now: of the nodes, and of etcd.
  std::vector<std::string> Serials() const;
  void ClaimReplaced(const std::vector<std::string>& before);
};

}  // namespace baton::app
