#include "http/channel.h"

#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <memory>

#include "base/check.h"

namespace baton::http {
namespace {

namespace net = boost::asio;
namespace ssl = net::ssl;
using boost::system::error_code;

SSL* Made(SSL_CTX* context) {
  SSL* const made = SSL_new(context);
  BATON_CHECK(made != nullptr);  // no memory
  return made;
}

}  // namespace

Channel::Channel(net::ip::tcp::socket socket, SSL_CTX* context) : plain_(std::move(socket)) {
  if (context != nullptr) tls_.emplace(plain_, Made(context));
}

void Channel::Handshake(Done done) {
  tls_->async_handshake(ssl::stream_base::server, std::move(done));
}

void Channel::FinishSending(Done done) {
  if (!tls_) {
    error_code ignored;
    socket().shutdown(net::ip::tcp::socket::shutdown_send, ignored);
    return done(ignored);
  }
  tls_->async_shutdown([this, done = std::move(done)](error_code error) {
    error_code ignored;
    socket().shutdown(net::ip::tcp::socket::shutdown_send, ignored);
    done(error);
  });
}

bool Channel::ClientHasClosed() {
  tcp_info info{};
  socklen_t size = sizeof info;
  const int asked = getsockopt(socket().native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size);
  return asked != 0 || info.tcpi_state != TCP_ESTABLISHED;
}

ClientCertificate Channel::Certificate() {
  if (!tls_) return {};
  const std::unique_ptr<X509, void (*)(X509*)> certificate(
      SSL_get1_peer_certificate(tls_->native_handle()), X509_free);
  return certificate != nullptr ? ReadClientCertificate(*certificate) : ClientCertificate();
}

}  // namespace baton::http
