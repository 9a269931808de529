// The peer of baton_bench's part (m): one process of etcd's own recipe for elections, with one
// session and an election for each shard. It campaigns in all elections at once, and leads what it
// wins until it is killed, or until SIGTERM asks it to end its session and leave. Exit code 1, with
// one line, if a campaign fails or the session ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

func main() {
	endpoint := flag.String("etcd", "", "address of etcd")
	prefix := flag.String("prefix", "", "the election of shard N is PREFIX/N")
	name := flag.String("name", "", "what this process puts into its keys")
	shards := flag.Int("shards", 1, "number of elections")
	ttl := flag.Int("ttl", 10, "seconds that the session lasts without keepalives")
	flag.Parse()
	if err := lead(*endpoint, *prefix, *name, *shards, *ttl); err != nil {
		fmt.Fprintln(os.Stderr, "go_recipe:", err)
		os.Exit(1)
	}
}

// lead returns nil after SIGTERM, and otherwise only when something fails.
func lead(endpoint, prefix, name string, shards, ttl int) error {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
	if err != nil {
		return err
	}
	session, err := concurrency.NewSession(client, concurrency.WithTTL(ttl))
	if err != nil {
		return err
	}
	failed := make(chan error, shards)
	for shard := 0; shard < shards; shard++ {
		election := concurrency.NewElection(session, fmt.Sprintf("%s/%d", prefix, shard))
		go func() {
			if err := election.Campaign(context.Background(), name); err != nil {
				failed <- err
			}
		}()
	}
	select {
	case err := <-failed:
		return fmt.Errorf("a campaign failed: %w", err)
	case <-asked:
		return session.Close()
	case <-session.Done():
		return errors.New("the session ended")
	}
}
