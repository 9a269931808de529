// The peer of baton_bench's part (m): one process of etcd's own recipe for elections, with one
// session and an election for each shard. It campaigns in all elections, and leads what it wins
// until it is killed, or until SIGTERM asks it to end its session and leave. Exit code 1, with one
// line, if a campaign fails or the session ends.
//
// The recipe has no pace. Of 10,000 campaigns that begin at once, etcd 3.4 refuses some ("too many
// requests": it has committed 5,000 requests more than it has applied), and the recipe then gives
// that campaign up. So of this program's requests to read or write keys at most 100 have no answer
// at a time, and the others wait. Renewals and watches don't. Nothing else is changed: once all
// campaigns have begun, and until a leader dies, there are no such requests. After a death those in
// line read again, at this pace; what is measured ends before, with the deletion of the dead one's
// key.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"google.golang.org/grpc"
)

const mostUnanswered = 100

// paced bounds how many requests to read or write keys have no answer yet.
func paced() grpc.DialOption {
	places := make(chan struct{}, mostUnanswered)
	return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any,
		connection *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		if strings.HasPrefix(method, "/etcdserverpb.KV/") {
			places <- struct{}{}
			defer func() { <-places }()
		}
		return invoke(ctx, method, request, reply, connection, options...)
	})
}

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
	client, err := clientv3.New(clientv3.Config{
		Endpoints:   []string{endpoint},
		DialOptions: []grpc.DialOption{paced()},
	})
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
