package main

//go:noinline
func ofMyOwn(n int) int {
	sum := 0
	for i := range n {
		sum += i % 7
	}
	return sum
}

func main() {
	for {
		ofMyOwn(1_000_000)
	}
}
