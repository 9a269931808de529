#include "http/secure_client.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <chrono>

namespace baton::http {

namespace net = boost::asio;
namespace ssl = net::ssl;

namespace {

constexpr std::chrono::seconds kPatience{20};

}  // namespace

SecureClient::SecureClient(std::uint16_t port, const PemTexts& texts, const std::string& protocol)
    : context_(ssl::context::tls_client) {
  context_.add_certificate_authority(net::buffer(texts.ca));
  context_.set_verify_mode(ssl::verify_peer);
  if (!texts.cert.empty()) {
    context_.use_certificate_chain(net::buffer(texts.cert));
    context_.use_private_key(net::buffer(texts.key), ssl::context::pem);
  }
  if (!protocol.empty()) {
    const std::string list = std::string(1, static_cast<char>(protocol.size())) + protocol;
    SSL_CTX_set_alpn_protos(context_.native_handle(),
                            reinterpret_cast<const unsigned char*>(list.data()),
                            static_cast<unsigned>(list.size()));
  }
  stream_ = std::make_unique<ssl::stream<net::ip::tcp::socket>>(io_, context_);
  stream_->next_layer().connect({net::ip::address_v4::loopback(), port}, error_);
  boost::system::error_code ignored;
  stream_->next_layer().set_option(net::ip::tcp::no_delay(true), ignored);
  Wait([this](const Done& done) {
    stream_->async_handshake(ssl::stream_base::client,
                             [done](boost::system::error_code error) { done(error, 0); });
  });
}

std::size_t SecureClient::Wait(const std::function<void(Done)>& begin) {
  if (error_) return 0;
  std::size_t bytes = 0;
  error_ = net::error::timed_out;
  begin([this, &bytes](boost::system::error_code error, std::size_t count) {
    error_ = error;
    bytes = count;
  });
  io_.restart();
  io_.run_for(kPatience);
  return bytes;
}

bool SecureClient::SendWithNewKeys(const std::string& bytes) {
  for (const char byte : bytes) {
    SSL_key_update(stream_->native_handle(), SSL_KEY_UPDATE_NOT_REQUESTED);
    if (!Send(std::string(1, byte))) return false;
  }
  return true;
}

bool SecureClient::Send(const std::string& bytes) {
  Wait([&](const Done& done) { net::async_write(*stream_, net::buffer(bytes), done); });
  return !error_;
}

std::string SecureClient::ReceiveAll() {
  std::string text;
  Wait([&](const Done& done) { net::async_read(*stream_, net::dynamic_buffer(text), done); });
  return text;
}

std::string SecureClient::ReceiveSome() {
  std::string text(4096, '\0');
  text.resize(Wait([&](const Done& done) { stream_->async_read_some(net::buffer(text), done); }));
  return text;
}

std::string SecureClient::Get(const std::string& target) {
  Send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  return ReceiveAll();
}

}  // namespace baton::http
