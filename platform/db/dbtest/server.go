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
	own *Cluster // keeps the pipe to its guard open; nil if the process did not start the server

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
		if own, err = create(context.Background(), memory(), settings); err != nil {
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
	p.count++
	name := fmt.Sprintf("writ_t_%d_%d", os.Getpid(), p.count)
	p.create(t, name, template)
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if _, err := p.admin.Exec(context.Background(), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop the test database: %v", err)
		}
	})
	return p.database(t, name)
}

// template returns the name of a database with the schema and without connections. The test processes of one server
// share it: its name is the digest of the migrations, and the process that creates it holds a lock.
func (p *postgres) template(t testing.TB, migrations fs.FS) string {
	t.Helper()
	key := digest(t, migrations)
	if name, ok := p.templates[key]; ok {
		return name
	}
	name := "writ_tpl_" + key[:16]
	p.exec(t, "SELECT pg_advisory_lock(hashtext('"+name+"'))")
	defer p.exec(t, "SELECT pg_advisory_unlock(hashtext('"+name+"'))")
	// The mark is set once the schema is whole: a process that died in between leaves a database without it.
	var whole bool
	const query = "SELECT coalesce((SELECT datistemplate FROM pg_database WHERE datname = $1), false)"
	if err := p.admin.QueryRow(t.Context(), query, name).Scan(&whole); err != nil {
		t.Fatalf("look for the migrated database: %v", err)
	}
	if !whole {
		p.create(t, name, "template0")
		migrate(t, p.database(t, name), migrations)
		p.exec(t, "ALTER DATABASE "+name+" WITH IS_TEMPLATE true")
	}
	p.templates[key] = name
	return name
}

// create makes a database, in place of one that a process of the same number left behind.
func (p *postgres) create(t testing.TB, name, template string) {
	t.Helper()
	p.exec(t, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	p.exec(t, "CREATE DATABASE "+name+" TEMPLATE "+template+" STRATEGY FILE_COPY")
	p.exec(t, "ALTER DATABASE "+name+" SET timezone = '"+Zone+"'")
}

func (p *postgres) exec(t testing.TB, query string) {
	t.Helper()
	if _, err := p.admin.Exec(context.Background(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
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
