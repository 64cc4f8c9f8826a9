// Serves a directory over NFSv3 with github.com/willscott/go-nfs, for tests: serve-go-nfs ADDRESS DIRECTORY.
package main

import (
	"fmt"
	"log"
	"net"
	"os"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/willscott/go-nfs"
	"github.com/willscott/go-nfs/helpers"
)

// Number of file handles that the server remembers.
const handles = 1 << 20

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: serve-go-nfs ADDRESS DIRECTORY")
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("serving", listener.Addr())
	handler := helpers.NewNullAuthHandler(osfs.New(os.Args[2]))
	log.Fatal(nfs.Serve(listener, helpers.NewCachingHandler(handler, handles)))
}
