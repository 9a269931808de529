// Sockets that the programs started by this process don't inherit: such a program (`batond run`)
// could take connections that are meant for this process, and read the tokens of their callers. And
// while it lived, nobody else could listen at the port.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>

#include <optional>

namespace baton::http {

/// Opens the acceptor, for TakeConnection.
void OpenUninherited(boost::asio::ip::tcp::acceptor& acceptor, const boost::asio::ip::tcp& protocol,
                     boost::system::error_code& error);

/// Takes a connection that waits. Nullopt without an error: it has gone meanwhile. REQUIRES: the
/// acceptor was opened by OpenUninherited.
std::optional<boost::asio::ip::tcp::socket> TakeConnection(boost::asio::ip::tcp::acceptor& acceptor,
                                                           boost::system::error_code& error);

}  // namespace baton::http
