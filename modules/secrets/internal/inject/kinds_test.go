package inject_test

import (
	"github.com/writ-automation/writ/ports/secrets"
)

type mapping struct {
	name     string
	kind     secrets.Kind
	secret   map[string]string
	settings map[string]any
	want     plain
}

func mappings() []mapping {
	return append(logins(), accounts()...)
}

func logins() []mapping {
	const key = "KEY of a host"
	pass := map[string]string{"password": "pass-word"}
	hidden := []string{"pass-word"}
	return []mapping{
		{
			"ssh key", secrets.SSHKey, map[string]string{"private_key": key + " locked by open", "passphrase": "open"},
			map[string]any{"username": "deploy"},
			plain{Keys: []string{key}, Login: []string{"deploy", "", "", "", ""},
				Hide: []string{key, key + " locked by open", "open"}},
		},
		{"ssh key alone", secrets.SSHKey, map[string]string{"private_key": key}, nil,
			plain{Keys: []string{key}, Hide: []string{key}}},
		{
			"ssh password", secrets.SSHPassword, pass, map[string]any{"username": "deploy"},
			plain{Login: []string{"deploy", "pass-word", "", "", ""}, Hide: hidden},
		},
		{"ssh password alone", secrets.SSHPassword, pass, nil,
			plain{Login: []string{"", "pass-word", "", "", ""}, Hide: hidden}},
		{
			"vault password", secrets.VaultPassword, pass, map[string]any{"vault_id": "prod"},
			plain{Vault: map[string]string{"prod": "pass-word"}, Hide: hidden},
		},
		{"vault password alone", secrets.VaultPassword, pass, nil,
			plain{Vault: map[string]string{"default": "pass-word"}, Hide: hidden}},
		{"become password", secrets.BecomePassword, pass, nil,
			plain{Login: []string{"", "", "", "", "pass-word"}, Hide: hidden}},
		{
			"become", secrets.Become, pass, map[string]any{"method": "su", "username": "oracle"},
			plain{Login: []string{"", "", "su", "oracle", "pass-word"}, Hide: hidden},
		},
		{"become alone", secrets.Become, pass, nil, plain{Login: []string{"", "", "", "", "pass-word"}, Hide: hidden}},
		{
			"network", secrets.Network, map[string]string{"password": "pass-word", "authorize_password": "enable-me"},
			map[string]any{"username": "netops", "network_os": "ios"},
			plain{
				Env: map[string]string{
					"ANSIBLE_NET_USERNAME": "netops", "ANSIBLE_NET_PASSWORD": "pass-word", "ANSIBLE_NET_AUTHORIZE": "1",
					"ANSIBLE_NET_AUTH_PASS": "enable-me",
				},
				Vars: map[string]any{
					"ansible_user": "netops", "ansible_password": "pass-word", "ansible_network_os": "ios", "ansible_become": true,
					"ansible_become_method": "enable", "ansible_become_password": "enable-me",
				},
				Hide: []string{"enable-me", "pass-word"},
			},
		},
		{
			"network alone", secrets.Network, pass, nil,
			plain{
				Env: map[string]string{"ANSIBLE_NET_PASSWORD": "pass-word"}, Vars: map[string]any{"ansible_password": "pass-word"},
				Hide: hidden,
			},
		},
		{
			"env", secrets.Env, map[string]string{"vars": `{"API_KEY":"k-1","EMPTY":""}`}, nil,
			plain{Env: map[string]string{"API_KEY": "k-1", "EMPTY": ""}, Hide: []string{"k-1", `{"API_KEY":"k-1","EMPTY":""}`}},
		},
		{
			"token", secrets.Token, map[string]string{"token": "tok-1"}, map[string]any{"env_name": "GITHUB_TOKEN"},
			plain{Env: map[string]string{"GITHUB_TOKEN": "tok-1"}, Hide: []string{"tok-1"}},
		},
		{
			"token alone", secrets.Token, map[string]string{"token": "tok-1"}, nil,
			plain{Env: map[string]string{"TOKEN": "tok-1"}, Hide: []string{"tok-1"}},
		},
	}
}

func accounts() []mapping {
	pass := map[string]string{"password": "pass-word"}
	registry := func(key, auth, server string) plain {
		return plain{
			Files: map[string]string{id + "/config.json": `{"auths":{"` + key + `":{"auth":"` + auth + `"}}}`},
			Env: map[string]string{
				"DOCKER_CONFIG": mark(""), "REGISTRY_AUTH_FILE": mark("config.json"), "REGISTRY_SERVER": server,
				"REGISTRY_PASSWORD": "pass-word",
			},
			Hide: []string{auth, "pass-word"},
		}
	}
	named := registry("registry.example.com:5000", "Ym90OnBhc3Mtd29yZA==", "https://registry.example.com:5000/")
	named.Env["REGISTRY_USERNAME"] = "bot"
	const account = `{"type":"service_account","private_key_id":"kid-1","private_key":"PEM-1","token_uri":"https://t.example"}`
	return []mapping{
		{
			"registry", secrets.Registry, pass, map[string]any{"username": "bot",
				"server": "https://registry.example.com:5000/"}, named,
		},
		{"registry alone", secrets.Registry, pass, nil,
			registry("https://index.docker.io/v1/", "dG9rZW46cGFzcy13b3Jk", "docker.io")},
		{
			"aws", secrets.AWS, map[string]string{"secret_access_key": "sak-1", "session_token": "st-1"},
			map[string]any{"access_key_id": "AKIA1", "region": "eu-central-1"},
			plain{
				Env: map[string]string{
					"AWS_ACCESS_KEY_ID": "AKIA1", "AWS_SECRET_ACCESS_KEY": "sak-1", "AWS_SESSION_TOKEN": "st-1",
					"AWS_REGION": "eu-central-1", "AWS_DEFAULT_REGION": "eu-central-1",
				},
				Hide: []string{"sak-1", "st-1"},
			},
		},
		{
			"aws alone", secrets.AWS, map[string]string{"secret_access_key": "sak-1"}, nil,
			plain{Env: map[string]string{"AWS_SECRET_ACCESS_KEY": "sak-1"}, Hide: []string{"sak-1"}},
		},
		{
			"azure", secrets.Azure, map[string]string{"client_secret": "cs-1"},
			map[string]any{"client_id": "c", "tenant_id": "t", "subscription_id": "s"},
			plain{
				Env: map[string]string{
					"AZURE_CLIENT_ID": "c", "AZURE_CLIENT_SECRET": "cs-1", "AZURE_SECRET": "cs-1", "AZURE_TENANT_ID": "t",
					"AZURE_TENANT":          "t",
					"AZURE_SUBSCRIPTION_ID": "s", "ARM_CLIENT_ID": "c", "ARM_CLIENT_SECRET": "cs-1", "ARM_TENANT_ID": "t",
					"ARM_SUBSCRIPTION_ID": "s",
				},
				Hide: []string{"cs-1"},
			},
		},
		{
			"azure alone", secrets.Azure, map[string]string{"client_secret": "cs-1"}, nil,
			plain{
				Env:  map[string]string{"AZURE_CLIENT_SECRET": "cs-1", "AZURE_SECRET": "cs-1", "ARM_CLIENT_SECRET": "cs-1"},
				Hide: []string{"cs-1"},
			},
		},
		{
			"gcp", secrets.GCP, map[string]string{"service_account_json": account}, map[string]any{"project": "prod"},
			plain{
				Files: map[string]string{id + "/service_account.json": account},
				Env: map[string]string{
					"GOOGLE_APPLICATION_CREDENTIALS":         mark("service_account.json"),
					"GCP_SERVICE_ACCOUNT_FILE":               mark("service_account.json"),
					"CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE": mark("service_account.json"), "GCP_AUTH_KIND": "serviceaccount",
					"GCP_PROJECT": "prod", "GOOGLE_CLOUD_PROJECT": "prod", "CLOUDSDK_CORE_PROJECT": "prod",
				},
				Hide: []string{"PEM-1", "kid-1", account},
			},
		},
		{
			"gcp alone", secrets.GCP, map[string]string{"service_account_json": `{}`}, nil,
			plain{
				Files: map[string]string{id + "/service_account.json": `{}`},
				Env: map[string]string{
					"GOOGLE_APPLICATION_CREDENTIALS":         mark("service_account.json"),
					"GCP_SERVICE_ACCOUNT_FILE":               mark("service_account.json"),
					"CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE": mark("service_account.json"), "GCP_AUTH_KIND": "serviceaccount",
				},
				Hide: []string{"{}"},
			},
		},
		{
			"vmware", secrets.VMware, pass, map[string]any{"username": "adm", "server": "vc.example.com",
				"validate_certs": false},
			plain{
				Env: map[string]string{
					"VMWARE_HOST": "vc.example.com", "VMWARE_USER": "adm", "VMWARE_PASSWORD": "pass-word",
					"VMWARE_VALIDATE_CERTS": "false",
				},
				Hide: []string{"pass-word"},
			},
		},
		{"vmware alone", secrets.VMware, pass, nil,
			plain{Env: map[string]string{"VMWARE_PASSWORD": "pass-word"}, Hide: []string{"pass-word"}}},
		{
			"openstack", secrets.OpenStack, pass, map[string]any{
				"auth_url": "https://k.example", "username": "adm", "project_name": "p", "domain_name": "d", "region": "r",
			},
			plain{
				Env: map[string]string{
					"OS_AUTH_URL": "https://k.example", "OS_USERNAME": "adm", "OS_PASSWORD": "pass-word", "OS_PROJECT_NAME": "p",
					"OS_USER_DOMAIN_NAME": "d", "OS_PROJECT_DOMAIN_NAME": "d", "OS_REGION_NAME": "r", "OS_IDENTITY_API_VERSION": "3",
				},
				Hide: []string{"pass-word"},
			},
		},
		{
			"openstack alone", secrets.OpenStack, pass, nil,
			plain{Env: map[string]string{"OS_PASSWORD": "pass-word", "OS_IDENTITY_API_VERSION": "3"},
				Hide: []string{"pass-word"}},
		},
	}
}
