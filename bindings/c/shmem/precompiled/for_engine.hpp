/// precompiled/for_engine - what the sources that know the stack begin with, compiled once.
#include "../engine.hpp"
