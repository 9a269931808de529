#include "routing/route_digest.h"

#include <openssl/evp.h>

#include <iterator>

#include <fmt/format.h>

#include "base/check.h"
#include "routing/leader_address.h"

namespace baton::routing {
namespace {

constexpr std::size_t kHashedAtOnce = 64 << 10;

}  // namespace

struct RouteDigest::Hash {
  struct Free {
    void operator()(EVP_MD_CTX* freed) const { EVP_MD_CTX_free(freed); }
  };

  void Add(const std::string& text) {
    BATON_CHECK(EVP_DigestUpdate(context.get(), text.data(), text.size()) == 1);
  }

  const std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};
};

std::string_view DigestedAddress(std::string_view address) {
  return IsUsable(address, LeaderAddresses::kUnixSocketsToo) ? address : std::string_view();
}

RouteDigest::RouteDigest() : hash_(std::make_unique<Hash>()) {
  BATON_CHECK(hash_->context != nullptr &&
              EVP_DigestInit_ex(hash_->context.get(), EVP_sha256(), nullptr) == 1);
}

RouteDigest::~RouteDigest() = default;

void RouteDigest::Add(Term term, std::string_view leader, std::string_view address) {
  EndLine();
  fmt::format_to(std::back_inserter(text_), "{}\t{}\t{}", term.value, leader, address);
  in_line_ = true;
}

void RouteDigest::AddStandby(std::string_view node, std::string_view address, bool ready) {
  fmt::format_to(std::back_inserter(text_), "\t{}\t{}\t{}", node, address, ready ? 1 : 0);
}

void RouteDigest::EndLine() {
  if (!in_line_) return;
  text_ += '\n';
  if (text_.size() < kHashedAtOnce) return;
  hash_->Add(text_);
  text_.clear();
}

std::string RouteDigest::Finish() {
  EndLine();
  hash_->Add(text_);
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  BATON_CHECK(EVP_DigestFinal_ex(hash_->context.get(),
                                 reinterpret_cast<unsigned char*>(digest.data()), &size) == 1);
  digest.resize(size);
  return digest;
}

}  // namespace baton::routing
