// Threads load a library and call functions found in it; the order under a mutex must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: dlopen pthread_mutex_lock pthread_mutex_unlock
#include "order.h"
#include <dlfcn.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *id) {
    for (int i = 0; i < 10; i++) {
        jitter();
        void *library = dlopen("libm.so.6", RTLD_NOW);
        double (*root)(double) = library ? (double (*)(double))dlsym(library, "sqrt") : NULL;
        int (*take)(pthread_mutex_t *) = (int (*)(pthread_mutex_t *))dlsym(RTLD_DEFAULT, "pthread_mutex_lock");
        if (root == NULL || take == NULL) return id;
        take(&lock);
        note((int)root((double)((long)id * (long)id)));
        pthread_mutex_unlock(&lock);
        dlclose(library);
    }
    return NULL;
}
int main(void) {
    run_threads(3, body);
    print_order();
    return 0;
}
