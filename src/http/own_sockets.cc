#include "http/own_sockets.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/error.hpp>

#include <cerrno>

namespace baton::http {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

error_code LastError() { return {errno, boost::asio::error::get_system_category()}; }

}  // namespace

void OpenUninherited(tcp::acceptor& acceptor, const tcp& protocol, error_code& error) {
  const int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  const int opened = socket(protocol.family(), type, protocol.protocol());
  if (opened < 0) {
    error = LastError();
    return;
  }
  acceptor.assign(protocol, opened, error);
  if (error) close(opened);
}

// Not by Asio's own accept, whose sockets are inherited.
std::optional<tcp::socket> TakeConnection(tcp::acceptor& acceptor, error_code& error) {
  const tcp protocol = acceptor.local_endpoint(error).protocol();
  if (error) return std::nullopt;
  const int taken =
      accept4(acceptor.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (taken < 0) {
    const bool gone = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    if (!gone) error = LastError();
    return std::nullopt;
  }
  tcp::socket socket(acceptor.get_executor());
  socket.assign(protocol, taken, error);
  if (!error) return socket;
  close(taken);
  return std::nullopt;
}

}  // namespace baton::http
