// Offers gRPC's reflection, a service that lists the server's services and messages.
#pragma once

#include "baton/result.h"

namespace baton::app {

/// Makes every gRPC server that this process builds later offer reflection. This can't be undone,
/// because it loads a library of gRPC that adds the service to each server. kUnavailable: the
/// library can't be loaded. After a success, another call changes nothing and succeeds. Any thread.
Status OfferReflection();

}  // namespace baton::app
