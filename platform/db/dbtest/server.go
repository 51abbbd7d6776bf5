package dbtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Variable names the environment variable with the URL of a Postgres superuser.
const Variable = "WRIT_TEST_POSTGRES"

// Zone is the time zone of test databases: UTC+10:30, in summer UTC+11.
const Zone = "Australia/Lord_Howe"

// servers holds the one Postgres server of the test process. It must outlive every single test, and the testing
// package offers no other place for that.
var servers struct {
	sync.Mutex
	made *postgres
	err  error
}

// postgres is a server on which databases are made, one statement at a time: a template must have no other user.
type postgres struct {
	url string
	own *Cluster // keeps the pipe to its guard open; nil where the server is not ours

	mu        sync.Mutex
	admin     *pgx.Conn
	templates map[string]string
	count     int
}

func server(t testing.TB) *postgres {
	t.Helper()
	servers.Lock()
	defer servers.Unlock()
	if servers.made == nil && servers.err == nil {
		servers.made, servers.err = connect()
	}
	if servers.err != nil {
		t.Fatalf("no Postgres server to test with: %v", servers.err)
	}
	return servers.made
}

func connect() (*postgres, error) {
	address := os.Getenv(Variable)
	var own *Cluster
	if address == "" {
		var err error
		if own, err = create(context.Background()); err != nil {
			return nil, err
		}
		address = own.URL()
	}
	admin, err := pgx.Connect(context.Background(), address)
	if err != nil {
		return nil, err
	}
	return &postgres{url: address, own: own, admin: admin, templates: map[string]string{}}, nil
}

func (p *postgres) fresh(t testing.TB, migrations fs.FS) string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	template := "template0"
	if migrations != nil {
		template = p.template(t, migrations)
	}
	name := p.create(t, "t", template)
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if _, err := p.admin.Exec(context.Background(), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop the test database: %v", err)
		}
	})
	return p.database(t, name)
}

// template returns the name of a database that holds the schema and no connection.
func (p *postgres) template(t testing.TB, migrations fs.FS) string {
	t.Helper()
	key := digest(t, migrations)
	name, ok := p.templates[key]
	if !ok {
		name = p.create(t, "tpl", "template0")
		migrate(t, p.database(t, name), migrations)
		p.templates[key] = name
	}
	return name
}

// create makes a database under a name that no other test process uses.
func (p *postgres) create(t testing.TB, kind, template string) string {
	t.Helper()
	p.count++
	name := fmt.Sprintf("writ_%s_%d_%d", kind, os.Getpid(), p.count)
	for _, query := range []string{
		"DROP DATABASE IF EXISTS " + name + " WITH (FORCE)",
		"CREATE DATABASE " + name + " TEMPLATE " + template + " STRATEGY FILE_COPY",
		"ALTER DATABASE " + name + " SET timezone = '" + Zone + "'",
	} {
		if _, err := p.admin.Exec(t.Context(), query); err != nil {
			t.Fatalf("make the test database: %v", err)
		}
	}
	return name
}

func (p *postgres) database(t testing.TB, name string) string {
	t.Helper()
	u, err := url.Parse(p.url)
	if err != nil {
		t.Fatalf("read the URL of the server: %v", err)
	}
	u.Path = "/" + name
	return u.String()
}

func digest(t testing.TB, migrations fs.FS) string {
	t.Helper()
	sum := sha256.New()
	err := fs.WalkDir(migrations, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		body, err := fs.ReadFile(migrations, name)
		if err == nil {
			_, err = io.WriteString(sum, name+"\x00"+string(body)+"\x00")
		}
		return err
	})
	if err != nil {
		t.Fatalf("read the migrations: %v", err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
