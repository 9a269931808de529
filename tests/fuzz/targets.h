// The functions of all targets. The head of each fuzz_NAME.cc says what it does.
#pragma once

#include <string_view>
#include <vector>

#include "fuzz/target.h"

namespace baton::fuzz {

void RunAccess(std::string_view bytes);
std::vector<Seed> AccessSeeds();
void RunCalls(std::string_view bytes);
std::vector<Seed> CallsSeeds();
void RunCommandLine(std::string_view bytes);
std::vector<Seed> CommandLineSeeds();
void RunConfig(std::string_view bytes);
std::vector<Seed> ConfigSeeds();
void RunEtcdAnswers(std::string_view bytes);
std::vector<Seed> EtcdAnswersSeeds();
void RunHttp(std::string_view bytes);
std::vector<Seed> HttpSeeds();
void RunKeys(std::string_view bytes);
std::vector<Seed> KeysSeeds();
void RunMessages(std::string_view bytes);
std::vector<Seed> MessagesSeeds();
void RunPem(std::string_view bytes);
std::vector<Seed> PemSeeds();
void RunPlacement(std::string_view bytes);
std::vector<Seed> PlacementSeeds();
void RunRecords(std::string_view bytes);
std::vector<Seed> RecordsSeeds();
void RunRequests(std::string_view bytes);
std::vector<Seed> RequestsSeeds();
void RunRoutes(std::string_view bytes);
std::vector<Seed> RoutesSeeds();
void RunSharding(std::string_view bytes);
std::vector<Seed> ShardingSeeds();
void RunSidecar(std::string_view bytes);
std::vector<Seed> SidecarSeeds();
void RunStateFile(std::string_view bytes);
std::vector<Seed> StateFileSeeds();
void RunStateJson(std::string_view bytes);
std::vector<Seed> StateJsonSeeds();
void RunWatch(std::string_view bytes);
std::vector<Seed> WatchSeeds();
void RunWords(std::string_view bytes);
std::vector<Seed> WordsSeeds();

}  // namespace baton::fuzz
