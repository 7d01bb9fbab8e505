/* mpp/shmem.h - where programs for Cray's and SGI's systems look for shmem.h. */
#ifndef MPP_SHMEM_H
#define MPP_SHMEM_H
#include "../shmem.h"
#endif
