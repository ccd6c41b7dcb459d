import java.util.concurrent.*;
import java.util.concurrent.locks.ReentrantLock;

public class Shop {
    interface Work { void once() throws Exception; }

    static final ReentrantLock LOCK = new ReentrantLock();

    static void reserve() throws Exception {
        LOCK.lock();
        try {
            Thread.sleep(2);
        } finally {
            LOCK.unlock();
        }
    }

    static void always(Work work) {
        new Thread(() -> {
            try {
                while (true) work.once();
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        }).start();
    }

    public static void main(String[] none) {
        for (int i = 0; i < 5; i++) always(Shop::reserve);
        ExecutorService pool = Executors.newFixedThreadPool(4);
        for (int i = 0; i < 4; i++) pool.submit(() -> 1);
        always(() -> new SynchronousQueue<Integer>().take());
        always(() -> new CountDownLatch(1).await());
        always(() -> new Semaphore(0).acquire());
        always(() -> new CompletableFuture<Integer>().get());
    }
}
