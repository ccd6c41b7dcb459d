package main

import (
	"sync"
	"time"
)

var mutex sync.Mutex
var shared sync.RWMutex

//go:noinline
func reserve() {
	mutex.Lock()
	time.Sleep(2 * time.Millisecond)
	mutex.Unlock()
}

//go:noinline
func stock() {
	shared.RLock()
	time.Sleep(time.Millisecond)
	shared.RUnlock()
}

//go:noinline
func restock() {
	shared.Lock()
	time.Sleep(20 * time.Millisecond)
	shared.Unlock()
}

func always(work func()) {
	for {
		work()
	}
}

func main() {
	for range [5]int{} {
		go always(reserve)
		go always(stock)
	}
	go always(restock)
	var group sync.WaitGroup
	group.Add(1)
	go group.Wait()
	condition := sync.NewCond(&sync.Mutex{})
	for range [4]int{} {
		go func() {
			condition.L.Lock()
			condition.Wait()
		}()
		go func() { <-make(chan int) }()
	}
	time.Sleep(time.Hour)
}
