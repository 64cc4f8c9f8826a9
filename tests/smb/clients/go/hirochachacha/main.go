// Command hirochachacha uses the client of this fork: HOST PORT SHARE USER PASSWORD.
package main

import (
	"bytes"
	"log"
	"net"
	"os"

	smb2 "github.com/hirochachacha/go-smb2"
)

func main() {
	log.SetFlags(0)
	host, port, share, user, password := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	dialer := &smb2.Dialer{Initiator: &smb2.NTLMInitiator{User: user, Password: password}}
	connection, err := net.Dial("tcp", net.JoinHostPort(host, port))
	must(err)
	session, err := dialer.Dial(connection)
	must(err)
	names, err := session.ListSharenames()
	must(err)
	check(len(names) >= 2, "shares")
	tree, err := session.Mount(share)
	must(err)
	data := bytes.Repeat([]byte("0123456789"), 30000)
	must(tree.Mkdir("go", 0o755))
	must(tree.WriteFile("go/file.bin", data, 0o644))
	read, err := tree.ReadFile("go/file.bin")
	must(err)
	check(bytes.Equal(read, data), "content")
	must(tree.Rename("go/file.bin", "go/renamed.bin"))
	must(tree.Rename("go", "other"))
	entries, err := tree.ReadDir("other")
	must(err)
	check(len(entries) == 1 && entries[0].Name() == "renamed.bin" && entries[0].Size() == int64(len(data)), "listing")
	must(tree.Truncate("other/renamed.bin", 10))
	info, err := tree.Stat("other/renamed.bin")
	must(err)
	check(info.Size() == 10, "size")
	must(tree.RemoveAll("other"))
	must(tree.Umount())
	must(session.Logoff())
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func check(right bool, what string) {
	if !right {
		log.Fatal(what)
	}
}
