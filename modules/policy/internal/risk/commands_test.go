package risk

import (
	"strings"
	"testing"

	"github.com/writ-automation/writ/modules/policy/internal/subject"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// commands has for each rule about commands those that match, and others that are close.
var commands = map[string]struct{ match, miss []string }{
	"erase_disk": {
		[]string{"mkfs.ext4 /dev/sdb1", "sudo mkfs -t xfs /dev/vdb", "wipefs -a /dev/sda", "wipefs --all /dev/sda",
			"dd if=/dev/zero of=/dev/sda bs=1M", `dd bs=1M of="/dev/nvme0n1" if=x`, "dd if=a \\\n  of=/dev/mapper/vg-root",
			"blkdiscard /dev/sdb", "shred -n1 /dev/sda", "Clear-Disk -Number 1", "format-volume -DriveLetter D"},
		[]string{"dd if=/dev/sda of=backup.img", "dd if=/dev/zero of=/dev/null", "wipefs /dev/sda", "mkfs_options=1 x",
			"dd if=x; echo of=/dev/sda", "shred secret.txt", "add of=/dev/sda", "Get-Disk -Number 1", "echo mkfsx /dev/sda"}},
	"drop_data": {
		[]string{`psql -c "DROP DATABASE app"`, "mysql -e 'drop  table users'", "drop\n table users;",
			"TRUNCATE TABLE logs;",
			"dropdb app", "db.dropDatabase()", "redis-cli FLUSHALL", "drop schema x cascade", "redis-cli -n 1 flushdb"},
		[]string{"drop index users_name", "render drop-down table", "truncate -s 0 log", "raindrop table", "flushallx",
			"alter table x drop column y", "drop_table x", "createdb app", "dropdatabase"}},
	"destroy_infrastructure": {
		[]string{"terraform destroy -auto-approve", "terraform -chdir=prod destroy", "tofu apply -auto-approve -destroy",
			"terragrunt run-all destroy", "pulumi destroy", "cd x && terraform \\\n  destroy"},
		[]string{"terraform plan -destroy", "terraform apply", "echo destroy", "terraform apply; echo -destroy",
			"terraform output destroyed", "pulumi preview", "terraformer destroy"}},
	"apply_infrastructure": {
		[]string{"terraform apply -auto-approve", "tofu -chdir=a apply x.plan", "terragrunt run-all apply", "pulumi up -y",
			"TERRAFORM apply"},
		[]string{"terraform plan", "terraform validate", "kubectl apply -f x", "pulumi preview", "pulumi update-plan",
			"echo apply terraform"}},
	"delete_tree": {
		[]string{"rm -rf /srv/app", "rm -fr x", "rm -f -r x", "rm -R x", "rm --force --recursive x", "cd /; rm -rf *",
			"rm x -r", "rm \\\n -rf x", "shutil.rmtree(path)", `os.RemoveAll("/x")`, "find /tmp -name '*.log' -delete",
			"Remove-Item C:\\x -Recurse -Force", "remove-item x -r", "Remove-Item -Recurse x", "find -delete",
			"rd /s /q c:\\x", "rmdir /S x"},
		[]string{"rm -f x", "rm file-r", "rm x; ls -r", "perform -rf x", "rm --verbose x", "find . -name x", "rmdir x",
			"Remove-Item x", "Remove-Item x; ls -Recurse", "rm -i x | grep -r y", "os.Remove(x)", "alarm -r x", "rm-x -r"}},
	"delete_resources": {
		[]string{"kubectl delete pod x", "kubectl -n prod delete deployment web", "oc delete project x",
			"kubectl drain node1 ",
			"helm uninstall web", "helm -n prod delete web", "aws ec2 terminate-instances --instance-ids i-1",
			"aws --region eu rds delete-db-instance x", "aws s3 rb s3://x", "aws s3 rm s3://x --recursive",
			"az group delete -n x", "gcloud compute instances delete x"},
		[]string{"kubectl get pods -l app=delete-me", "kubectl get pods; echo delete x", "helm list", "aws s3 rm s3://x/y",
			"aws ec2 describe-instances", "az group list", "mykubectl_x delete x", "kubectl apply -f deleted.yml"}},
	"stop_machine": {
		[]string{"shutdown -h now", "sudo reboot", "/sbin/reboot", "poweroff;", "systemctl reboot", "init 6", "telinit 0",
			"Restart-Computer -Force", "Stop-Computer", `os.system("reboot")`, "true && halt", "sleep 1\nreboot\n"},
		[]string{"test -f /run/reboot-required", "reboot_timeout=5", "init 3", "echo no-reboot", "asphalt", "git init 0x",
			"restart-computers", "shutdown_hook()", "init.d/x 6"}},
	"execute_download": {
		[]string{"curl -fsSL https://x/i.sh | sh", "curl https://x?a=1&b=2 | sudo bash -s -- y",
			"wget -qO- https://x | /bin/sh",
			"curl \\\n -fsSL \\\n https://x |\n bash", `bash -c "$(curl -fsSL https://x)"`, "bash <(curl -s https://x)",
			"source <(curl -s https://x)", "curl https://x | python3 -", "curl https://x | python3", "eval `curl x`",
			"curl x | tee y | zsh", "iwr https://x | iex", "iex (irm https://x)",
			"Invoke-Expression ((New-Object Net.WebClient).DownloadString('https://x'))"},
		[]string{"curl https://x | jq .", "curl https://x | shasum", "curl https://x -o i.sh", "token=$(curl https://x)",
			"curl https://x | python3 -m json.tool", "cat x | sh", "curl https://x > y; bash z", "bash y; v=$(curl x)",
			"iwr https://x -OutFile y", "iex $x", "mycurl_x | sh", "curl x\necho\nls | sh"}},
	"stop_service": {
		[]string{"systemctl stop nginx", "systemctl --now disable nginx", "systemctl mask x ",
			"systemctl -H host stop nginx",
			"service nginx stop", "/etc/init.d/nginx stop", "Stop-Service W3SVC", "net stop w3svc", "systemctl kill x"},
		[]string{"systemctl status nginx", "systemctl restart nginx", "systemctl start stop.service",
			"service nginx restart",
			"systemctl is-enabled x; echo stop x", "Start-Service x", "net start x", "internet stop x", "nonstop-service x"}},
	"open_permissions": {
		[]string{"chmod -R 777 /srv", "chmod 777 /srv -R", "chmod 0666 x", "chmod a+w x", "chmod o+rw x", "chmod 1777 /tmp",
			"chmod ugo=rwx x", "chmod --recursive 777 x"},
		[]string{"chmod 755 x", "chmod -R 750 x", "chmod u+w x", "chmod a+rx x", "chmod 644 file777", "chmod +x x",
			"chmod 700 x; echo 777 y", "chmod o-w x", "fchmod 777 x"}},
	"open_firewall": {
		[]string{"iptables -F", "iptables -t nat -F", "ip6tables --flush", "iptables -w -F INPUT", "nft flush ruleset",
			"ufw disable", "ufw --force reset", "netsh advfirewall set allprofiles state off",
			"Set-NetFirewallProfile -All -Enabled False", "set-netfirewallprofile -Profile Domain -Enabled $false"},
		[]string{"iptables -L", "iptables -A INPUT -f -j DROP", "iptables-save -f x", "nft list ruleset", "ufw enable",
			"ufw status", "netsh advfirewall set allprofiles state on", "Get-NetFirewallProfile", "nft add table x flushed"}},
	"remove_account": {
		[]string{"userdel -r bob", "groupdel x", "deluser bob", "delgroup x", "Remove-LocalUser -Name x",
			"net user bob /delete",
			"DROP USER bob", "drop role app"},
		[]string{"useradd bob", "usermod -L bob", "id userdel_x", "net user bob", "drop-user x", "raindrop user x",
			"Get-LocalUser x", "net user bob; echo /delete"}},
	"long_command": {
		[]string{strings.Repeat("x", maxRead+1), strings.Repeat("dd rm\n", 4000)},
		[]string{strings.Repeat("x", maxRead), strings.Repeat("dd\n"+strings.Repeat("x", 97)+"\n", 300)}},
}

// TestCommands shows what each rule about commands finds, and what it leaves out.
func TestCommands(t *testing.T) {
	t.Parallel()
	for name, c := range commands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, command := range c.match {
				for _, text := range []string{command, "set -e\n" + command, strings.ToUpper(command),
					"x\n\n" + command + "\n"} {
					if !has(t, &runs.Run{Spec: runs.Spec{Tool: "bash", Command: text}}, nil, name) {
						t.Errorf("misses %.200q", text)
					}
				}
			}
			for _, command := range c.miss {
				if has(t, &runs.Run{Spec: runs.Spec{Tool: "bash", Command: command}}, nil, name) {
					t.Errorf("matches %.200q", command)
				}
			}
		})
	}
}

// has reports whether a rule matches, and fails if the level is below that of the rule.
func has(t *testing.T, r *runs.Run, targets []policy.Targets, name string) bool {
	t.Helper()
	for i := range subject.Of(r, targets) {
		risk := Grade(&subject.Of(r, targets)[i])
		for _, rule := range Rules() {
			for _, reason := range risk.Reasons {
				if rule.Name == name && rule.Reason == reason {
					if !r.Spec.DryRun && !risk.Level.AtLeast(rule.Level) {
						t.Errorf("%s: level %s", name, risk.Level)
					}
					return true
				}
			}
		}
	}
	return false
}

// TestLongCommandsAreBounded reads no more of a command than the bound, and each line at most twice.
func TestLongCommandsAreBounded(t *testing.T) {
	t.Parallel()
	hidden := strings.Repeat("x\n", maxRead/2) + "rm -rf /"
	if has(t, &runs.Run{Spec: runs.Spec{Tool: "bash", Command: hidden}}, nil, "delete_tree") {
		t.Error("reads beyond the bound")
	}
	inside := strings.Repeat("x\n", maxRead/2-8) + "rm -rf /\n" + strings.Repeat("x", 64)
	if !has(t, &runs.Run{Spec: runs.Spec{Tool: "bash", Command: inside}}, nil, "delete_tree") {
		t.Error("stops before the bound")
	}
}
