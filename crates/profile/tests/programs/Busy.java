public class Busy {
    static long sum;

    static void ofMyOwn(int n) {
        for (int i = 0; i < n; i++) {
            sum += i % 7;
        }
    }

    public static void main(String[] arguments) {
        while (true) {
            ofMyOwn(1_000_000);
        }
    }
}
