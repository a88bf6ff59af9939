// What the programs of this folder share. Each has one bug, which the order of a few operations on locks decides, and with
// -DREPAIRED none. LATER keeps bare runs in the order that works, as a slow start or a sleep in a test does; whoever
// chooses the order need not care, since nobody waits for a sleep there.
#ifndef EXPLORE_H
#define EXPLORE_H
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LATER() usleep(20000)
// Where it is enough that a thread is late to begin, on a machine that has other things to do.
#define MUCH_LATER() usleep(300000)
#define MUTEX(name) static pthread_mutex_t name = PTHREAD_MUTEX_INITIALIZER
#define CONDITION(name) static pthread_cond_t name = PTHREAD_COND_INITIALIZER
#define RWLOCK(name) static pthread_rwlock_t name = PTHREAD_RWLOCK_INITIALIZER
#define LOCK(name) pthread_mutex_lock(&name)
#define UNLOCK(name) pthread_mutex_unlock(&name)
#define WAIT(condition, name) pthread_cond_wait(&condition, &name)
#define SIGNAL(condition) pthread_cond_signal(&condition)
#define BROADCAST(condition) pthread_cond_broadcast(&condition)
#define START(thread, body) pthread_create(&thread, NULL, body, NULL)
#define JOIN(thread) pthread_join(thread, NULL)
#endif
