// BATON_EXPORT marks what the shared library shows; all else is hidden.
#pragma once

#define BATON_EXPORT __attribute__((visibility("default")))
