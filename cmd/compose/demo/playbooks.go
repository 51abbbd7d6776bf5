package demo

import "strings"

// task is a task of a playbook. Its name has the role in front.
type task struct{ name, action, path, resource string }

// role returns the role of a task.
func (t task) role() string {
	role, _, _ := strings.Cut(t.name, " : ")
	return role
}

// play is a play with its tasks.
type play struct {
	name  string
	tasks []task
}

// playbook is a playbook of the demo's project.
type playbook struct {
	file  string
	hosts string // the pattern of its hosts
	plays []play
}

// size returns the number of tasks.
func (b *playbook) size() int {
	n := 0
	for _, p := range b.plays {
		n += len(p.tasks)
	}
	return n
}

// tasksOf makes the tasks of a role from lines of a module, a resource and a name.
func tasksOf(role string, lines ...string) []task {
	var out []task
	for i, line := range lines {
		module, rest, _ := strings.Cut(line, " ")
		resource, name, _ := strings.Cut(rest, " ")
		at := "roles/" + role + "/tasks/main.yml:" + itoa(2+i*6)
		out = append(out, task{role + " : " + name, "ansible.builtin." + module, at, module + " " + resource})
	}
	return out
}

// playbooks are the playbooks by their files.
func playbooks() map[string]*playbook {
	out := map[string]*playbook{}
	for _, b := range []*playbook{
		{"patch.yml", "web", []play{{"Patch the web servers", tasksOf("patch", "setup all gather facts",
			"apt cache update the package cache", "apt upgrade install security updates",
			"systemd_service nginx restart nginx", "uri health probe port 443")}}},
		{"api.yml", "api", []play{{"Deploy the api", tasksOf("api", "file /srv/api/releases release directory",
			"get_url /srv/api/api.tar.gz fetch archive", "template /etc/api/env environment file",
			"command migrate migrate schema", "systemd_service api restart api", "uri health smoke test")}}},
		{"baseline.yml", "all", []play{{"Baseline", tasksOf("base", "setup all gather facts",
			"template /etc/ntp.conf ntp servers", "sysctl vm.max_map_count sysctl limits", "copy /etc/motd motd",
			"template /etc/ssh/sshd_config ssh daemon", "systemd_service unattended-upgrades unattended upgrades")}}},
		{"certs.yml", "edge", []play{{"Rotate certificates", tasksOf("certs", "command request request certificates",
			"copy /etc/nginx/tls/edge.pem install certificates", "command nginx validate config",
			"systemd_service nginx reload nginx")}}},
		{"users.yml", "all", []play{{"Sync users", tasksOf("users", "group admins groups", "user people accounts",
			"authorized_key people authorized keys", "template /etc/sudoers.d/admins sudo rules")}}},
		{"facts.yml", "all", []play{{"Gather facts", tasksOf("facts", "setup all gather facts")}}},
		{"drill.yml", "db", []play{{"Failover drill", tasksOf("drill", "command lag check the replication lag",
			"command promote promote the replica", "command repoint repoint clients", "uri health verify writes")}}},
		{"firewall.yml", "all", []play{{"Firewall", tasksOf("firewall", "apt nftables package",
			"template /etc/nftables.conf allow metrics", "systemd_service nftables reload")}}},
		{"flush.yml", "edge", []play{{"Flush the cache", tasksOf("cache", "command purge purge",
			"uri warm warm the cache")}}},
		large(),
	} {
		out[b.file] = b
	}
	return out
}

// large is the playbook of the large run, with 60 tasks.
func large() *playbook {
	b := &playbook{file: "site.yml", hosts: "all"}
	for _, p := range []struct{ name, tasks string }{
		{"base", "gather facts,time zone,ntp servers,sysctl limits,kernel modules,motd,root mail,unattended upgrades," +
			"journald size,swap off"},
		{"users", "groups,accounts,authorized keys,sudo rules,remove leavers,shell profile"},
		{"firewall", "package,default policy,allow ssh,allow http,allow metrics,rate limits,reload"},
		{"nginx", "repository key,repository,package,main config,site configs,tls parameters,certificates," +
			"validate config,enable service,reload,probe port 443"},
		{"shop", "release directory,fetch archive,checksum,unpack,environment file,migrate schema,warm cache," +
			"switch link,restart workers,prune releases,smoke test"},
		{"metrics", "exporter user,exporter binary,exporter unit,textfile dir,scrape config,start exporter,probe"},
		{"finish", "package cache,reboot marker,facts cache,handlers,report,unlock,label host,done"},
	} {
		var lines []string
		for name := range strings.SplitSeq(p.tasks, ",") {
			lines = append(lines, "command "+strings.ReplaceAll(name, " ", "-")+" "+name)
		}
		b.plays = append(b.plays, play{p.name, tasksOf(p.name, lines...)})
	}
	return b
}
