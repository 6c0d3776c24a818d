// Made by .ci/media-types from the list of Debian's package media-types 10.0.0, which is in the public domain.
// Do not edit it by hand.

extension FileExtensionTable {
    /// `extension=type`, sorted by the bytes of the extensions, with a space before each: 1532 entries. The first
    /// letter of a type stands for what ``prefixes`` has for it.
    static let entries = """
         123=Vlotus-1-2-3 1905.1=Vieee.1905 1clr=Aclr 1km=V1000minds.decision-model+xml 210=Ap21 3dm=Tvnd.in3d.3dml\
         3dml=Tvnd.in3d.3dml 3mf=Vms-3mfdocument 3tz=Vmaxar.archive.3tz+zip 726=U32kadpcm 7z=X7z-compressed a=Tvnd.a\
         a2l=AA2L aa3=UATRAC3 aac=Uaac aal=UATRAC-ADVANCED-LOSSLESS abc=Tvnd.abc abw=Xabiword ac=Apkix-attr-cert\
         ac2=Vbanana-accounting ac3=Uac3 acc=Vamericandynamics.acc acn=Uasc acu=Vacucobol acutc=Vacucorp adts=Uaac\
         aep=Vaudiograph afp=Vafpc.modca age=Vage ahead=Vahead.space ai=Apostscript aif=Ux-aiff aifc=Ux-aiff\
         aiff=Ux-aiff aion=Vveritone.aion+json ait=Vdvb.ait alc=Calchemy ami=Vamiga.ami aml=AAML\
         amlx=Aautomationml-amlx+zip amr=UAMR anx=Aannodex apex=Vapexlang apexlang=Vapexlang\
         apk=Vandroid.package-archive apkg=Vanki apng=Iapng appcache=Tcache-manifest apr=Vlotus-approach\
         apxml=Aauth-policy+xml arrow=Vapache.arrow.file arrows=Vapache.arrow.stream art=Ix-jg artisan=Vartisan+json\
         asc=Apgp-keys ascii=Tvnd.ascii-art asf=Vms-asf asice=Vetsi.asic-e+zip asics=Vetsi.asic-s+zip asn=Cncbi-asn1\
         aso=Vaccpac.simply.aso ass=Uaac at3=UATRAC3 atc=Vacucorp atf=AATF atfx=AATFX atom=Aatom+xml\
         atomcat=Aatomcat+xml atomdeleted=Aatomdeleted+xml atomsrv=Aatomserv+xml atomsvc=Aatomsvc+xml atx=UATRAC-X\
         atxml=AATXML au=Ubasic auc=Atamp-apex-update-confirm avci=Iavci avcs=Iavcs avi=Dx-msvideo avif=Iavif\
         awb=UAMR-WB axa=Uannodex axv=Dannodex azf=Vairzip.filesecure.azf azs=Vairzip.filesecure.azs\
         azv=Ivnd.airzip.accelerator.azv azw3=Vamazon.mobi8-ebook b=Cmolconn-Z b16=Ivnd.pco.b16 bak=Xtrash\
         bar=Vqualcomm.brew-app-res bat=Xmsdos-program bcpio=Xbcpio bdm=Vsyncml.dm+wbxml bed=Vrealvnc.bed\
         bh2=Vfujitsu.oasysprs bib=Tx-bibtex bik=Dvnd.radgamettools.bink bin=Aoctet-stream bk2=Dvnd.radgamettools.bink\
         bkm=Vnervana bmi=Vbmi bmml=Vbalsamiq.bmml+xml bmp=Ibmp bmpr=Vbalsamiq.bmpr boo=Tx-boo book=Xmaker\
         box=Vpreviewsystems.box bpd=Vhbci brf=Tplain bsd=Ccrossfire bsp=Mvnd.valve.source.compiled-map btf=Iprs.btif\
         btif=Iprs.btif bz2=Xbzip2 c=Tx-csrc c++=Tx-c++src c11amc=Vcluetrust.cartomobile-config\
         c11amz=Vcluetrust.cartomobile-config-pkg c3d=Cchem3d c3ex=Acccex c4d=Vclonk.c4group c4f=Vclonk.c4group\
         c4g=Vclonk.c4group c4p=Vclonk.c4group c4u=Vclonk.c4group c9r=Vcryptomator.encrypted c9s=Vcryptomator.encrypted\
         cab=Vms-cab-compressed cac=Ccache cache=Ccache cap=Vtcpdump.pcap car=Vipld.car carjson=Veu.kasparian.car+json\
         cascii=Ccactvs-binary cat=Vms-pki.seccat cbin=Ccactvs-binary cbor=Acbor cbr=Vcomicbook-rar cbz=Vcomicbook+zip\
         cc=Tx-c++src ccc=Tvnd.net2phone.commcenter.command ccmp=Accmp+xml ccxml=Accxml+xml cda=Xcdf\
         cdbcmsg=Vcontact.cmsg cdf=Xcdf cdfx=ACDFX+XML cdkey=Vmediastation.cdkey cdmia=Acdmi-capability\
         cdmic=Acdmi-container cdmid=Acdmi-domain cdmio=Acdmi-object cdmiq=Acdmi-queue cdr=Ix-coreldraw\
         cdt=Ix-coreldrawtemplate cdx=Ccdx cdxml=Vchemdraw+xml cdy=Vcinderella cea=ACEA cef=Ccxf cellml=Acellml+xml\
         cer=Apkix-cert cgm=Icgm chm=Vms-htmlhelp chrt=Vkde.kchart cif=Vmultiad.creator.cif\
         cii=Vanser-web-certificate-issue-initiation cil=Vms-artgalry cl=Asimple-filter+xml cla=Vclaymore\
         class=Ajava-vm cld=Mvnd.cld clkk=Vcrick.clicker.keyboard clkp=Vcrick.clicker.palette\
         clkt=Vcrick.clicker.template clkw=Vcrick.clicker.wordbank clkx=Vcrick.clicker cls=Tx-tex clue=Aclue_info+xml\
         cmc=Vcosmocaller cmdf=Ccmdf cml=Acellml+xml cmp=Vyellowriver-custom-menu cmsc=Acms cnd=Tjcr-cnd cod=Vrim.cod\
         coffee=Vcoffeescript com=Xmsdos-program copyright=Tvnd.debian.copyright coswid=Aswid+cbor cpa=Ccompass\
         cpio=Xcpio cpkg=Vxmpie.cpkg cpl=Acpl+xml cpp=Tx-c++src cpt=Amac-compactpro cql=Tcql cr2=Ix-canon-cr2\
         crl=Apkix-crl crt=Xx509-ca-cert crtr=Vmultiad.creator crw=Ix-canon-crw cryptomator=Vcryptomator.vault\
         cryptonote=Vrig.cryptonote csd=Ucsound csf=Ccache-csf csh=Xcsh csl=Vcitationstyles.style+xml csm=Ccsml\
         csml=Ccsml csp=Vcommonspace csrattrs=Acsrattrs css=Tcss cst=Vcommonspace csv=Tcsv csvs=Tcsv-schema\
         ctab=Ccactvs-binary ctx=Cctx cu=Acu-seeme cub=Cgaussian-cube cuc=Atamp-community-update-confirm curl=Tvnd.curl\
         cw=Aprs.cww cwl=Acwl cwl.json=Acwl+json cww=Aprs.cww cxf=Ccxf cxx=Tx-c++src d=Tx-dsrc dae=Mvnd.collada+xml\
         daf=VMobius.DAF dart=Vdart dataless=Vfdsn.seed davmount=Adavmount+xml dbf=Vdbf dcd=ADCD dcm=Adicom\
         dcr=Xdirector dd2=Voma.dd2+xml ddd=Vfujixerox.ddd ddeb=Vdebian.binary-package ddf=Vsyncml.dmddf+xml\
         deb=Vdebian.binary-package deploy=Aoctet-stream dfac=Vdreamfactory dif=Ddv diff=Tx-diff dii=ADII\
         dim=Vfastcopy-disk-image dir=Xdirector dis=VMobius.DIS dist=Vapple.installer+xml distz=Vapple.installer+xml\
         dit=ADIT dive=Vpatentdive djv=Ivnd.djvu djvu=Ivnd.djvu dl=Vdatalog dll=Xmsdos-program dls=Udls\
         dmg=Xapple-diskimage dmp=Vtcpdump.pcap dms=Tvnd.DMClientScript dna=Vdna doc=Amsword docjson=Vdocument+json\
         docm=Vms-word.document.macroEnabled.12 docx=Vopenxmlformats-officedocument.wordprocessingml.document\
         dor=Mvnd.gdl dot=Tvnd.graphviz dotm=Vms-word.template.macroEnabled.12\
         dotx=Vopenxmlformats-officedocument.wordprocessingml.template dp=Vosgi.dp dpg=Vdpgraph dpgraph=Vdpgraph\
         dpkg=Vxmpie.dpkg dpx=Idpx drle=Idicom-rle dsc=Tprs.lines.tag dsm=Vdesmume.movie dssc=Adssc+der dtd=Axml-dtd\
         dts=Uvnd.dts dtshd=Uvnd.dts.hd dv=Ddv dvb=Dvnd.dvb.file dvc=Advcs dvi=Xdvi dwd=Aatsc-dwd+xml dwf=Mvnd.dwf\
         dwg=Ivnd.dwg dx=Cjcamp-dx dxf=Ivnd.dxf dxp=Vspotfire.dxp dxr=Xdirector dzr=Vdzr ebuild=Vgentoo.ebuild\
         ecelp4800=Uvnd.nuera.ecelp4800 ecelp7470=Uvnd.nuera.ecelp7470 ecelp9600=Uvnd.nuera.ecelp9600\
         ecig=Vevolv.ecig.settings ecigprofile=Vevolv.ecig.profile ecigtheme=Vevolv.ecig.theme eclass=Vgentoo.eclass\
         edm=Vnovadigm.EDM edx=Vnovadigm.EDX efi=Aefi efif=Vpicsel ei6=Vpg.osasli eln=Veln+zip emb=Cembl-dl-nucleotide\
         embl=Cembl-dl-nucleotide emf=Iemf eml=Erfc822 emm=Vibm.electronic-media emma=Aemma+xml\
         emotionml=Aemotionml+xml ent=Axml-external-parsed-entity entity=Vnervana enw=UEVRCNW eol=Uvnd.digital-winds\
         eot=Vms-fontobject ep=Vbluetooth.ep.oob eps=Apostscript eps2=Apostscript eps3=Apostscript epsf=Apostscript\
         epsi=Apostscript epub=Aepub+zip erf=Ix-epson-erf es=Tjavascript es3=Veszigno3+xml esa=Vosgi.subsystem\
         esf=Vepson.esf espass=Vespass-espass+zip et3=Veszigno3+xml etx=Tx-setext evb=UEVRCB evc=UEVRC evw=UEVRCWB\
         exe=Xmsdos-program exi=Aexi exp=Aexpress exr=Iaces ext=Vnovadigm.EXT ez=Aandrew-inset ez2=Vezpix-album\
         ez3=Vezpix-package fb=Xmaker fbdoc=Xmaker fbs=Ivnd.fastbidsheet fcdt=Vadobe.formscentral.fcdt\
         fch=Cgaussian-checkpoint fchk=Cgaussian-checkpoint fcs=Visac.fcs fdf=Afdf fdt=Afdt+xml\
         fe_launch=Vdenovo.fcselayout-link fg5=Vfujitsu.oasysgp fig=Xxfig finf=Afastinfoset fit=Ifits fits=Ifits\
         fla=Vdtg.local.flash flac=Uflac flb=Vficlab.flb+zip fli=Dfli flo=Vmicrografx.flo flt=Tvnd.ficlab.flt\
         flv=Dx-flv flw=Vkde.kivio flx=Tvnd.fmi.flexstor fly=Tvnd.fly fm=Vframemaker fo=Vsoftware602.filler.form+xml\
         fpx=Ivnd.fpx frame=Xmaker frm=Vufdl fsc=Vfsc.weblaunch fst=Ivnd.fst ftc=Vfluxtime.clip\
         fti=Vanser-web-funds-transfer-initiation fts=Ifits fvt=Dvnd.fvt fxp=Vadobe.fxp fxpl=Vadobe.fxp fzs=Vfuzzysheet\
         g2w=Vgeoplan g3w=Vgeospace gac=Vgroove-account gal=Cgaussian-log gam=Cgamess-input gamin=Cgamess-input\
         gan=Xganttproject gau=Cgaussian-input gbr=Arpki-ghostbusters gcd=Tx-pcs-gcd gcf=Xgraphing-calculator\
         gcg=Cgcg8-sequence gdl=Mvnd.gdl gdz=Vfamilysearch.gedcom+zip ged=Tvnd.familysearch.gedcom gen=Cgenbank\
         genozip=Vgenozip geo=Vdynageo geojson=Ageo+json gex=Vgeometry-explorer gf=Xtex-gf gff3=Tgff3\
         ggb=Vgeogebra.file ggs=Vgeogebra.slides ggt=Vgeogebra.tool ghf=Vgroove-help gif=Igif\
         gim=Vgroove-identity-message gjc=Cgaussian-input gjf=Cgaussian-input gl=Dgl glb=Mgltf-binary\
         glbin=Agltf-buffer glbuf=Agltf-buffer gltf=Mgltf+json gml=Agml+xml gnumeric=Xgnumeric gph=VFloGraphIt\
         gpkg=Ageopackage+sqlite3 gpkg.tar=Vgentoo.gpkg gpt=Cmopac-graph gqf=Vgrafeq gqs=Vgrafeq gram=Asrgs\
         grd=Vgentics.grd+json gre=Vgeometry-explorer grv=Vgroove-injector grxml=Asrgs+xml gsf=Xfont\
         gsheet=Aurc-grpsheet+xml gsm=Ux-gsm gtar=Xgtar gtm=Vgroove-tool-message gtw=Mvnd.gtw gv=Tvnd.graphviz\
         gxt=Vgeonext gz=Agzip h=Tx-chdr h++=Tx-c++hdr hal=Vhal+xml hans=Tvnd.hans hbc=Vhbci hbci=Vhbci hdf=Xhdf\
         hdr=Ivnd.radiance hdt=Vhdt heic=Iheic heics=Iheic-sequence heif=Iheif heifs=Iheif-sequence hej2=Ihej2k\
         held=Aatsc-held+xml hgl=Tvnd.hgl hh=Tx-c++hdr hif=Iavif hin=Chin hpgl=Vhp-HPGL hpi=Vhp-hpid hpid=Vhp-hpid\
         hpp=Tx-c++hdr hps=Vhp-hps hpub=Aprs.hpub+zip hqx=Amac-binhex40 hs=Tx-haskell hsj2=Ihsj2 hta=Ahta\
         htc=Tx-component htke=Vkenameaapp htm=Thtml html=Thtml hvd=Vyamaha.hv-dic hvp=Vyamaha.hv-voice\
         hvs=Vyamaha.hv-script hwp=Xhwp hxx=Tx-c++hdr i2g=Vintergeo ic0=Vcommerce-battelle ic1=Vcommerce-battelle\
         ic2=Vcommerce-battelle ic3=Vcommerce-battelle ic4=Vcommerce-battelle ic5=Vcommerce-battelle\
         ic6=Vcommerce-battelle ic7=Vcommerce-battelle ic8=Vcommerce-battelle ica=Xica icc=Viccprofile\
         icd=Vcommerce-battelle icf=Vcommerce-battelle icm=Viccprofile ico=Ivnd.microsoft.icon ics=Tcalendar ief=Iief\
         ifb=Tcalendar ifc=Ap21 ifm=Vshana.informed.formdata iges=Miges igl=Vigloader igm=Vinsors.igm\
         ign=Vcoreos.ignition+json ignition=Vcoreos.ignition+json igs=Miges igx=Vmicrografx.igx\
         iif=Vshana.informed.interchange iii=Xiphone imf=Vimagemeter.folder+zip imgcal=V3lightssoftware.imagescal\
         imi=Vimagemeter.image+zip imp=Vaccpac.simply.imp ims=Vms-ims imscc=Vims.imsccv1p1 info=Xinfo ink=Ainkml+xml\
         inkml=Ainkml+xml inp=Cgamess-input ins=Xinternet-signup iota=Vastraea-software.iota ipfix=Aipfix\
         ipk=Vshana.informed.package irm=Vibm.rights-management irp=Virepository.package+xml ism=Mvnd.gdl\
         iso=Xiso9660-image isp=Xinternet-signup ist=Cisostar istc=Vveryant.thin istr=Cisostar isws=Vveryant.thin\
         itp=Vshana.informed.formtemplate its=Aits+xml ivp=Vimmervision-ivp ivu=Vimmervision-ivu\
         jad=Tvnd.sun.j2me.app-descriptor jam=Vjam jar=Ajava-archive java=Tx-java jdx=Cjcamp-dx jfif=Ijpeg jhc=Ijphc\
         jisp=Vjisp jls=Ijls jlt=Vhp-jlyt jmz=Xjmol jng=Ix-jng jnlp=Xjava-jnlp-file joda=Vjoost.joda-archive jp2=Ijp2\
         jpe=Ijpeg jpeg=Ijpeg jpf=Ijpx jpg=Ijpeg jpg2=Ijp2 jpgm=Ijpm jph=Ijph jphc=Ijphc jpm=Ijpm jpx=Ijpx\
         jrd=Ajrd+json js=Tjavascript json=Ajson json-patch=Ajson-patch+json jsonld=Ald+json jsontd=Atd+json\
         jsontm=Atm+json jt=MJT jtd=Tvnd.esmertec.theme-descriptor jxl=Ijxl jxr=Ijxr jxra=IjxrA jxrs=IjxrS jxs=Ijxs\
         jxsc=Ijxsc jxsi=Ijxsi jxss=Ijxss karbon=Vkde.karbon kcm=Vnervana key=Apgp-keys keynote=Vapple.keynote\
         kfo=Vkde.kformula kia=Vkidspiration kil=Xkillustrator kin=Ckinemage kml=Vgoogle-earth.kml+xml\
         kmz=Vgoogle-earth.kmz kne=VKinar knp=VKinar kom=Vhbci kon=Vkde.kontour koz=Uvnd.audiokoz kpr=Vkde.kpresenter\
         kpt=Vkde.kpresenter ksp=Vkde.kspread ktr=Vkahootz ktx=Iktx ktx2=Iktx2 ktz=Vkahootz kwd=Vkde.kword\
         kwt=Vkde.kword l16=UL16 las=Vlas lasjson=Vlas.las+json lasxml=Vlas.las+xml latex=Xlatex lbc=UiLBC\
         lbd=Vllamagraphics.life-balance.desktop lbe=Vllamagraphics.life-balance.exchange+xml lca=Vlogipipe.circuit+zip\
         lcs=Vlogipipe.circuit+zip le=Vbluetooth.le.oob les=Vhhe.lesson-player lgr=Algr+xml lha=Xlha\
         lhs=Tx-literate-haskell lhzd=Vbelightsoft.lhzd+zip lhzl=Vbelightsoft.lhzl+zip lin=Abbolin line=Vnebumind.line\
         link66=Vroute66.link66+xml list3820=Vafpc.modca listafp=Vafpc.modca lmp=Mvnd.gdl loas=Uusac log=Tplain\
         loom=Vloom lostsyncxml=Alostsync+xml lostxml=Alost+xml lpf=Alpf+zip lrm=Vms-lrm lsf=Dx-la-asf lsx=Dx-la-asf\
         ltx=Tx-tex lvp=Uvnd.lucent.voice lwp=Vlotus-wordpro lxf=ALXF ly=Tx-lilypond lyx=Xlyx lzh=Xlzh lzx=Xlzx\
         m=Vwolfram.mathematica.package m1v=Dmpeg m21=Amp21 m2v=Dmpeg m3g=Am3g m3u=Umpegurl m3u8=Vapple.mpegurl\
         m4a=Ump4 m4s=Diso.segment m4u=Dvnd.mpegurl m4v=Dmp4 ma=Amathematica mads=Amads+xml maei=Ammt-aei+xml\
         mag=Vecowin.chart mail=Erfc822 maker=Xmaker man=Xtroff-man manifest=Tcache-manifest markdown=Tmarkdown\
         mb=Amathematica mbk=VMobius.MBK mbox=Ambox mc1=Vmedcalcdata mc2=Tvnd.senx.warpscript mcd=Vmcd mcif=Cmmcif\
         mcm=Cmacmolecule md=Tmarkdown mdb=Amsaccess mdc=Vmarlin.drm.mdcf mdi=Ivnd.ms-modi me=Xtroff-me mesh=Mmesh\
         meta4=Ametalink4+xml mets=Amets+xml mf4=AMF4 mfm=Vmfmp mft=Arpki-manifest mgp=Vosgeo.mapguide.package\
         mgz=Vproteus.magazine mhas=Umhas mid=Usp-midi mif=Vmif miz=Tmizar mj2=Dmj2 mjp2=Dmj2 mjs=Tjavascript\
         mkv=Dx-matroska ml2=Vsybyl.mol2 mlp=Uvnd.dolby.mlp mm=Xfreemind mmd=Vchipnuts.karaoke-mmd\
         mmdb=Vmaxmind.maxmind-db mmf=Vsmaf mml=Amathml+xml mmod=Cmacromodel-input mmr=Ivnd.fujixerox.edmics-mmr\
         mng=Dx-mng moc=Tx-moc mod=Axml-dtd model-inter=Vvd-study mods=Amods+xml mol=Cmdl-molfile mol2=Vsybyl.mol2\
         moml=Mvnd.moml+xml moo=Cmopac-out mop=Cmopac-input mopcrt=Cmopac-input mov=Dquicktime movie=Dx-sgi-movie\
         mp1=Umpeg mp2=Umpeg mp21=Amp21 mp3=Umpeg mp4=Dmp4 mpc=Vmophun.certificate mpd=Adash+xml mpdd=Adashdelta\
         mpe=Dmpeg mpeg=Dmpeg mpega=Umpeg mpf=Tvnd.ms-mediapackage mpg=Dmpeg mpg4=Dmp4 mpga=Umpeg mph=Xcomsol\
         mpkg=Vapple.installer+xml mpm=Vblueice.multipass mpn=Vmophun.application mpp=Vms-project mpt=Vms-project\
         mpv=Dx-matroska mpw=Vexstream-empower+zip mpy=Vibm.MiniPay mqy=VMobius.MQY mrc=Amarc mrcx=Amarcxml+xml\
         ms=Xtroff-ms msa=Vmsa-disk-image msd=Vfdsn.mseed mseed=Vfdsn.mseed mseq=Vmseq msf=Vepson.msf msh=Mmesh\
         msi=Xmsi msl=VMobius.MSL msm=Mvnd.gdl msp=Aoctet-stream msty=Vmuvee.style msu=Aoctet-stream mtl=Mmtl\
         mts=Mvnd.mts multitrack=Uvnd.presonus.multitrack mus=Vmusician musd=Ammt-usd+xml mvb=Cmopac-vib\
         mvt=Vmapbox-vector-tile mwc=Vdpgraph mwf=VMFER mxf=Amxf mxi=Vvd-study mxl=Vrecordare.musicxml mxmf=Umobile-xmf\
         mxml=Axv+xml mxs=Vtriscape.mxs mxu=Dvnd.mpegurl n3=Tn3 nb=Vwolfram.mathematica nbp=Vwolfram.player nc=Xnetcdf\
         ndc=Vosa.netdeploy ndl=Vlotus-notes nds=Vnintendo.nitro.rom nebul=Vnebumind.line nef=Ix-nikon-nef\
         ngdat=Vnokia.n-gage.data nim=Dvnd.nokia.interleaved-multimedia nimn=Vnimn nitf=Vnitf nlu=Vneurolanguage.nlu\
         nml=Venliven nnd=Vnoblenet-directory nns=Vnoblenet-sealer nnw=Vnoblenet-web notebook=Vsmart.notebook\
         nq=An-quads ns2=Vlotus-notes ns3=Vlotus-notes ns4=Vlotus-notes nsf=Vlotus-notes nsg=Vlotus-notes\
         nsh=Vlotus-notes nt=An-triples ntf=Vlotus-notes numbers=Vapple.numbers nwc=Xnwc o=Xobject oa2=Vfujitsu.oasys2\
         oa3=Vfujitsu.oasys3 oas=Vfujitsu.oasys obg=Vopenblox.game-binary obgx=Vopenblox.game+xml obj=Mobj oda=AODA\
         odb=Voasis.opendocument.base odc=Voasis.opendocument.chart odd=Atei+xml odf=Voasis.opendocument.formula\
         odg=Voasis.opendocument.graphics odi=Voasis.opendocument.image odm=Voasis.opendocument.text-master\
         odp=Voasis.opendocument.presentation ods=Voasis.opendocument.spreadsheet odt=Voasis.opendocument.text odx=AODX\
         oeb=Vopeneye.oeb oga=Uogg ogex=Mvnd.opengex ogg=Uogg ogv=Dogg ogx=Aogg old=Xtrash omg=UATRAC3 one=Aonenote\
         onepkg=Aonenote onetmp=Aonenote onetoc2=Aonenote opf=Aoebps-package+xml oprc=Vpalm opus=Uogg\
         or2=Vlotus-organizer or3=Vlotus-organizer orc=Ucsound orf=Ix-olympus-orf org=Vlotus-organizer\
         orq=Aocsp-request ors=Aocsp-response osf=Vyamaha.openscoreformat osm=Vopenstreetmap.data+xml ota=Vandroid.ota\
         otc=Voasis.opendocument.chart-template otf=Fotf otg=Voasis.opendocument.graphics-template\
         oth=Voasis.opendocument.text-web oti=Voasis.opendocument.image-template\
         otp=Voasis.opendocument.presentation-template ots=Voasis.opendocument.spreadsheet-template\
         ott=Voasis.opendocument.text-template ovl=Vafpc.modca-overlay oxlicg=Voxli.countgraph oxps=Aoxps\
         oxt=Vopenofficeorg.extension oza=Xoz-application p=Tx-pascal p10=Apkcs10 p12=Apkcs12 p21=Ap21 p2p=Vwfa.p2p\
         p7c=Apkcs7-mime p7m=Apkcs7-mime p7r=Xpkcs7-certreqresp p7s=Apkcs7-signature p7z=Apkcs7-mime p8=Apkcs8\
         p8e=Apkcs8-encrypted pac=Xns-proxy-autoconfig package=Vautopackage pages=Vapple.pages parquet=Vapache.parquet\
         pas=Tx-pascal pat=Ix-coreldrawpattern patch=Tx-diff paw=Vpawaafile pbd=Vpowerbuilder6 pbm=Ix-portable-bitmap\
         pcap=Vtcpdump.pcap pcf=Xfont-pcf pcf.z=Xfont-pcf pcl=Vhp-PCL pcx=Ivnd.zbrush.pcx pdb=Vpalm pdf=Apdf pdx=APDX\
         pem=Apem-certificate-chain pfa=Xfont pfb=Xfont pfr=Afont-tdpfr pfx=Apkcs12 pgb=Ivnd.globalgraphics.pgb\
         pgm=Ix-portable-graymap pgn=Vchess-pgn pgp=Apgp-encrypted pil=Vpiaccess.application-licence pk=Xtex-pk\
         pkd=Vhbci pkg=Vapple.installer+xml pki=Apkixcmp pkipath=Apkix-pkipath pl=Tx-perl plb=V3gpp.pic-bw-large\
         plc=VMobius.PLC plf=Vpocketlearn plist=Xplist plj=Uvnd.everad.plj plp=Vpanoply pls=Ux-scpls pm=Tx-perl\
         pml=Vctc-posml png=Ipng pnm=Ix-portable-anymap portpkg=Vmacports.portpkg pot=Tplain\
         potm=Vms-powerpoint.template.macroEnabled.12 potx=Vopenxmlformats-officedocument.presentationml.template\
         ppam=Vms-powerpoint.addin.macroEnabled.12 ppd=Vcups-ppd ppkg=Vxmpie.ppkg ppm=Ix-portable-pixmap\
         pps=Vms-powerpoint ppsm=Vms-powerpoint.slideshow.macroEnabled.12\
         ppsx=Vopenxmlformats-officedocument.presentationml.slideshow ppt=Vms-powerpoint\
         pptm=Vms-powerpoint.presentation.macroEnabled.12 ppttc=Vthink-cell.ppttc+json\
         pptx=Vopenxmlformats-officedocument.presentationml.presentation pqa=Vpalm prc=Mprc pre=Vlotus-freelance\
         preminet=Vpreminet prf=Apics-rules provn=Tprovenance-notation provx=Aprovenance+xml prt=Cncbi-asn1-ascii\
         prz=Vlotus-freelance ps=Apostscript psb=V3gpp.pic-bw-small psd=Ivnd.adobe.photoshop pseg3820=Vafpc.modca\
         psfs=Vpsfs psg=Vafpc.modca-pagesegment psid=Uprs.sid pskcxml=Apskc+xml pt=Vsnesdev-page-table pti=Iprs.pti\
         ptid=Vpvi.ptid1 ptrom=Vsnesdev-page-table pub=Vexstream-package pvb=V3gpp.pic-bw-var pwn=V3M.Post-it-Notes\
         py=Tx-python pya=Uvnd.ms-playready.media.pya pyc=Xpython-code pyo=Xpython-code pyox=Mvnd.pytha.pyox\
         pyv=Dvnd.ms-playready.media.pyv qam=Vepson.quickanime qbo=Vintu.qbo qca=Vericsson.quickcall\
         qcall=Vericsson.quickcall qcp=UEVRC-QCP qfx=Vintu.qfx qgs=Xqgis qps=Vpublishare-delta-tree qt=Dquicktime\
         qtl=Xquicktimeplayer quiz=Vquobject-quoxdocument quox=Vquobject-quoxdocument qvd=Vtheqvd\
         qwd=VQuark.QuarkXPress qwt=VQuark.QuarkXPress qxb=VQuark.QuarkXPress qxd=VQuark.QuarkXPress\
         qxl=VQuark.QuarkXPress qxt=VQuark.QuarkXPress ra=Ux-pn-realaudio ram=Ux-pn-realaudio rapd=Aroute-apd+xml\
         rar=Vrar ras=Ix-cmu-raster rb=Xruby rcprofile=Vipunplugged.rcprofile rct=Aprs.nprend rd=Cmdl-rdfile\
         rdf=Ardf+xml rdf-crypt=Aprs.rdf-xml-crypt rdp=Xrdp rdz=Vdata-vision.rdz relo=Ap2p-overlay+xml\
         reload=Vresilient.logic rep=Vbusinessobjects request=Vnervana rfcxml=Arfc+xml rgb=Ix-rgb rgbe=Ivnd.radiance\
         rif=Areginfo+xml rip=Uvnd.rip rl=Aresource-lists+xml rlc=Ivnd.fujixerox.edmics-rlc\
         rld=Aresource-lists-diff+xml rlm=Vresilient.logic rm=Ux-pn-realaudio rms=Vjcp.javame.midlet-rms\
         rnc=Arelax-ng-compact-syntax rnd=Aprs.nprend roa=Arpki-roa roff=Ttroff ros=Crosdal rp9=Vcloanto.rp9\
         rpm=Xredhat-package-manager rpss=Vnokia.radio-presets rpst=Vnokia.radio-preset rq=Asparql-query\
         rs=Arls-services+xml rsat=Aatsc-rsat+xml rsheet=Aurc-ressheet+xml rsm=Mvnd.gdl rss=Xrss+xml\
         rst=Tprs.fallenstein.rst rtf=Artf rusd=Aroute-usd+xml rxn=Cmdl-rxnfile rxt=Vmedicalholodeck.recordxr\
         s11=Dvnd.sealed.mpeg1 s14=Dvnd.sealed.mpeg4 s1a=Vsealedmedia.softseal.pdf s1e=Vsealed.xls\
         s1g=Ivnd.sealedmedia.softseal.gif s1h=Vsealedmedia.softseal.html s1j=Ivnd.sealedmedia.softseal.jpg\
         s1m=Uvnd.sealedmedia.softseal.mpeg s1n=Ivnd.sealed.png s1p=Vsealed.ppt s1q=Dvnd.sealedmedia.softseal.mov\
         s1w=Vsealed.doc s3df=Vsealed.3df sac=Atamp-sequence-adjust-confirm saf=Vyamaha.smaf-audio sam=Vlotus-wordpro\
         sar=Vsar sarif=Asarif+json sarif-external-properties=Asarif-external-properties+json\
         sarif-external-properties.json=Asarif-external-properties+json sarif.json=Asarif+json sc=Vibm.secure-container\
         scala=Tx-scala scd=Vscribus sce=Vetsi.asic-e+zip sci=Xscilab scim=Ascim+json scl=Vsycle+xml\
         scld=Vdoremir.scorecloud-binary-document scm=Vlotus-screencam sco=Ucsound scq=Ascvp-cv-request\
         scr=Xsilverlight scs=Ascvp-cv-response scsf=Vsealed.csf sd=Cmdl-sdfile sd2=Ux-sd2 sda=Vstardivision.draw\
         sdc=Vstardivision.calc sdd=Vstardivision.impress sdf=VKinar sdkd=Vsolent.sdkm+xml sdkm=Vsolent.sdkm+xml\
         sdo=Vsealed.doc sdoc=Vsealed.doc sdp=Asdp sds=Vstardivision.chart sdw=Vstardivision.writer see=Vseemail\
         seed=Vfdsn.seed sem=Vsealed.eml sema=Vsema semd=Vsemd semf=Vsemf seml=Vsealed.eml senml=Asenml+json\
         senml-etchc=Asenml-etch+cbor senml-etchj=Asenml-etch+json senmlc=Asenml+cbor senmle=Asenml-exi\
         senmlx=Asenml+xml sensml=Asensml+json sensmlc=Asensml+cbor sensmle=Asensml-exi sensmlx=Asensml+xml\
         ser=Ajava-serialized-object sfc=Vnintendo.snes.rom sfd=Vfont-fontforge-sfd sfd-hdstx=Vhydrostatix.sof-data\
         sfs=Vspotfire.sfs sfv=Tx-sfv sgf=Xgo-sgf sgi=Ivnd.sealedmedia.softseal.gif sgif=Ivnd.sealedmedia.softseal.gif\
         sgl=Vstardivision.writer-global sgm=TSGML sgml=TSGML sh=Xsh shaclc=Tshaclc shar=Xshar shc=Tshaclc shex=Tshex\
         shf=Ashf+xml shp=Vshp shtml=Thtml shx=Vshx si=Tvnd.wap.si sic=Vwap.sic sid=Uprs.sid sieve=Asieve\
         sig=Apgp-signature sik=Xtrash silo=Mmesh sis=Vsymbian.install sit=Xstuffit sitx=Xstuffit siv=Asieve\
         sjp=Ivnd.sealedmedia.softseal.jpg sjpg=Ivnd.sealedmedia.softseal.jpg skd=Vkoan skm=Vkoan skp=Vkoan skt=Vkoan\
         sl=Tvnd.wap.sl sla=Vscribus slaz=Vscribus slc=Vwap.slc sldm=Vms-powerpoint.slide.macroEnabled.12\
         sldx=Vopenxmlformats-officedocument.presentationml.slide sls=Aroute-s-tsid+xml slt=Vepson.salt\
         sm=Vstepmania.stepchart smc=Vnintendo.snes.rom smf=Vstardivision.math smh=Vsealed.mht smht=Vsealed.mht\
         smi=Asmil+xml smil=Asmil+xml smk=Dvnd.radgamettools.smacker sml=Asmil+xml smo=Dvnd.sealedmedia.softseal.mov\
         smov=Dvnd.sealedmedia.softseal.mov smp=Uvnd.sealedmedia.softseal.mpeg smp3=Uvnd.sealedmedia.softseal.mpeg\
         smpg=Dvnd.sealed.mpeg1 sms=V3gpp2.sms smv=USMV smzip=Vstepmania.package snd=Ubasic soa=Tdns\
         soc=Asgml-open-catalog sofa=Usofa sos=Tvnd.sosi spc=Cgalactic-spc spd=Vsealedmedia.softseal.pdf\
         spdf=Vsealedmedia.softseal.pdf spdx=Tspdx spdx.json=Aspdx+json spf=Vyamaha.smaf-phrase spl=Afuturesplash\
         spn=Ivnd.sealed.png spng=Ivnd.sealed.png spo=Tvnd.in3d.spot spot=Tvnd.in3d.spot spp=Ascvp-vp-response\
         sppt=Vsealed.ppt spq=Ascvp-vp-request spx=Uogg sql=Asql sqlite=Vsqlite3 sqlite3=Vsqlite3 sr=Vsigrok.session\
         src=Xwais-source srt=Tplain sru=Asru+xml srx=Asparql-results+xml sse=Vkodak-descriptor ssf=Vepson.ssf\
         ssml=Assml+xml ssv=Vshade-save-file ssvc=Vcrypto-shade-file ssw=Dvnd.sealed.swf sswf=Dvnd.sealed.swf\
         st=Vsailingtracker.track stc=Vsun.xml.calc.template std=Vsun.xml.draw.template step=Mstep stf=Vwt.stf\
         sti=Vsun.xml.impress.template stif=Vsealed.tiff stix=Astix+json stk=Ahyperstudio stl=Mstl\
         stml=Vsealedmedia.softseal.html stp=Mstep stpnc=Ap21 stpx=Mstep+xml stpxz=Mstep-xml+zip stpz=Mstep+zip\
         str=Vpg.format study-inter=Vvd-study stw=Vsun.xml.writer.template sty=Tx-tex sus=Vsus-calendar\
         susp=Vsus-calendar sv4cpio=Xsv4cpio sv4crc=Xsv4crc svc=Vdvb.service svg=Isvg+xml svgz=Isvg+xml sw=Cswissprot\
         swf=Vadobe.flash.movie swi=Varistanetworks.swi swidtag=Aswid+xml sxc=Vsun.xml.calc sxd=Vsun.xml.draw\
         sxg=Vsun.xml.writer.global sxi=Vsun.xml.impress sxl=Vsealed.xls sxls=Vsealed.xls sxm=Vsun.xml.math\
         sxw=Vsun.xml.writer sy2=Vsybyl.mol2 syft.json=Vsyft+json t=Ttroff tag=Tprs.lines.tag taglet=Vmynfc\
         tam=Vonepager tamp=Vonepagertamp tamx=Vonepagertamx tao=Vtao.intent-module-archive tap=Ivnd.tencent.tap\
         tar=Xtar tat=Vonepagertat tatp=Vonepagertatp tatx=Vonepagertatx tau=Atamp-apex-update taz=Xgtar-compressed\
         tcap=V3gpp2.tcap tcl=Xtcl tcu=Atamp-community-update td=Aurc-targetdesc+xml teacher=Vsmart.teacher\
         tei=Atei+xml teicorpus=Atei+xml ter=Atamp-error tex=Tx-tex texi=Xtexinfo texinfo=Xtexinfo text=Tplain\
         tfi=Athraud+xml tfx=Itiff-fx tgf=Cmdl-tgf tgz=Xgtar-compressed thmx=Vms-officetheme tif=Itiff tiff=Itiff\
         tk=Tx-tcl tlclient=Vcendio.thinlinc.clientconf tm=Ttexmacs tm.json=Atm+json tm.jsonld=Atm+json\
         tmo=Vtmobile-livetv tnef=Vms-tnef tnf=Vms-tnef toml=Atoml torrent=Xbittorrent tpl=Vgroove-tool-template\
         tpt=Vtrid.tpt tr=Ttroff tra=Vtrueapp tree=Vrainstor.data trig=Atrig ts=Tvnd.trolltech.linguist\
         tsa=Atamp-sequence-adjust tsd=Atimestamped-data tsp=Adsptype tsq=Atimestamp-query tsr=Atimestamp-reply\
         tst=Vetsi.timestamp-token tsv=Ttab-separated-values ttc=Fcollection ttf=Fttf ttl=Tturtle ttml=Attml+xml\
         tuc=Atamp-update-confirm tur=Atamp-update twd=VSimTech-MindMapper twds=VSimTech-MindMapper\
         txd=Vgenomatix.tuxedo txf=VMobius.TXF txt=Tplain u3d=Mu3d u8dsn=Eglobal-delivery-status u8hdr=Eglobal-headers\
         u8mdn=Eglobal-disposition-notification u8msg=Eglobal udeb=Vdebian.binary-package ufd=Vufdl ufdl=Vufdl\
         uis=Aurc-uisocketdesc+xml umj=Vumajin unityweb=Vunity uo=Vuoml+xml uoml=Vuoml+xml upa=Vhbci uri=Turi-list\
         urim=Vuri-map urimap=Vuri-map uris=Turi-list usda=Mvnd.usda usdz=Mvnd.usdz+zip ustar=Xustar utz=Vuiq.theme\
         uva=Uvnd.dece.audio uvd=Vdece.data uvf=Vdece.data uvg=Ivnd.dece.graphic uvh=Dvnd.dece.hd uvi=Ivnd.dece.graphic\
         uvm=Dvnd.dece.mobile uvp=Dvnd.dece.pd uvs=Dvnd.dece.sd uvt=Vdece.ttml+xml uvu=Dvnd.dece.mp4\
         uvv=Dvnd.dece.video uvva=Uvnd.dece.audio uvvd=Vdece.data uvvf=Vdece.data uvvg=Ivnd.dece.graphic\
         uvvh=Dvnd.dece.hd uvvi=Ivnd.dece.graphic uvvm=Dvnd.dece.mobile uvvp=Dvnd.dece.pd uvvs=Dvnd.dece.sd\
         uvvt=Vdece.ttml+xml uvvu=Dvnd.dece.mp4 uvvv=Dvnd.dece.video uvvx=Vdece.unspecified uvvz=Vdece.zip\
         uvx=Vdece.unspecified uvz=Vdece.zip val=Cncbi-asn1-binary vbk=Uvnd.nortel.vbk vbox=Vpreviewsystems.box\
         vcard=Tvcard vcd=Xcdlink vcf=Tvcard vcg=Vgroove-vcard vcj=Avoucher-cms+json vcs=Tx-vcalendar vcx=Vvcx\
         vds=Mvnd.sap.vds ves=Vves.encrypted vew=Vlotus-approach vfk=Tvnd.exchangeable vfr=Vtml viaframe=Vtml\
         vis=Vvisionary viv=Dvnd.vivo vmd=Cvmd vms=Cvamas-iso14976 vmt=Vvalve.source.material vrm=Mvrml vrml=Mvrml\
         vsc=Vvidsoft.vidconference vsd=Vvisio vsf=Vvsf vss=Vvisio vst=Vvisio vsw=Vvisio vtf=Ivnd.valve.source.texture\
         vtnstd=Vveritone.aion+json vtt=Tvtt vtu=Mvnd.vtu vwx=Vvectorworks vxml=Avoicexml+xml wad=Xdoom\
         wadl=Vsun.wadl+xml wafl=Vwasmflow.wafl wasm=Awasm wav=Ux-wav wax=Ux-ms-wax wbmp=Ivnd.wap.wbmp\
         wbs=Vcriticaltools.wbs+xml wbxml=Vwap.wbxml wcm=Vms-works wdb=Vms-works webm=Dwebm webmanifest=Amanifest+json\
         webp=Iwebp wg=Vpmi.widget wgsl=Twgsl wgt=Awidget wif=Awatcherinfo+xml win=Mvnd.gdl wk=X123 wk1=Vlotus-1-2-3\
         wk3=Vlotus-1-2-3 wk4=Vlotus-1-2-3 wks=Vms-works wlnk=Alink-format wm=Dx-ms-wm wma=Ux-ms-wma wmc=Vwmc\
         wmd=Xms-wmd wmf=Iwmf wml=Tvnd.wap.wml wmlc=Vwap.wmlc wmls=Tvnd.wap.wmlscript wmlsc=Vwap.wmlscriptc\
         wmv=Dx-ms-wmv wmx=Dx-ms-wmx wmz=Xms-wmz woff=Fwoff woff2=Fwoff2 wpd=Vwordperfect wpl=Vms-wpl wps=Vms-works\
         wqd=Vwqd wrl=Mvrml wsc=Vwfa.wsc wsdl=Awsdl+xml wspolicy=Awspolicy+xml wtb=Vwebturbo wv=Vwv.csp+wbxml\
         wvx=Dx-ms-wvx wz=Xwingz x3d=Mx3d+xml x3db=Mx3d+fastinfoset x3dv=Mx3d-vrml x3dvz=Mx3d-vrml x3dz=Mx3d+xml\
         x_b=Mvnd.parasolid.transmit.binary x_t=Mvnd.parasolid.transmit.text xar=Vxara xav=Axcap-att+xml\
         xbd=Vfujixerox.docuworks.binder xbm=Ix-xbitmap xca=Axcap-caps+xml xcf=Ix-xcf xcos=Xscilab-xcos\
         xcs=Acalendar+xml xct=Vfujixerox.docuworks.container xdd=Abacnet-xdd+zip xdf=Axcap-diff+xml xdm=Vsyncml.dm+xml\
         xdp=Vadobe.xdp+xml xdssc=Adssc+xml xdw=Vfujixerox.docuworks xel=Axcap-el+xml xer=Axcap-error+xml xfd=Vxfdl\
         xfdf=Axfdf xfdl=Vxfdl xhe=Uusac xht=Axhtml+xml xhtm=Axhtml+xml xhtml=Axhtml+xml xhvml=Axv+xml xif=Ivnd.xiff\
         xla=Vms-excel xlam=Vms-excel.addin.macroEnabled.12 xlc=Vms-excel xlf=Axliff+xml xlim=Vxmpie.xlim xlm=Vms-excel\
         xls=Vms-excel xlsb=Vms-excel.sheet.binary.macroEnabled.12 xlsm=Vms-excel.sheet.macroEnabled.12\
         xlsx=Vopenxmlformats-officedocument.spreadsheetml.sheet xlt=Vms-excel xltm=Vms-excel.template.macroEnabled.12\
         xltx=Vopenxmlformats-officedocument.spreadsheetml.template xlw=Vms-excel xml=Axml xmls=Adskpp+xml\
         xmt_bin=Mvnd.parasolid.transmit.binary xmt_txt=Mvnd.parasolid.transmit.text xns=Axcap-ns+xml xo=Volpc-sugar\
         xodp=Vcollabio.xodocuments.presentation xods=Vcollabio.xodocuments.spreadsheet\
         xodt=Vcollabio.xodocuments.document xop=Axop+xml xotp=Vcollabio.xodocuments.presentation-template\
         xots=Vcollabio.xodocuments.spreadsheet-template xott=Vcollabio.xodocuments.document-template xpak=Vgentoo.xpak\
         xpi=Xxpinstall xpm=Ix-xpixmap xpr=Vis-xpr xps=Vms-xpsdocument xpw=Vintercon.formnet xpx=Vintercon.formnet\
         xsf=Aprs.xsf+xml xsl=Axslt+xml xslt=Axslt+xml xsm=Vsyncml+xml xspf=Axspf+xml xtel=Cxtel xul=Vmozilla.xul+xml\
         xvm=Axv+xml xvml=Axv+xml xwd=Ix-xwindowdump xyz=Cxyz xyze=Ivnd.radiance xz=Xxz yaml=Ayaml yang=Ayang\
         yin=Ayin+xml yme=Vyaoweme yml=Ayaml yt=Dvnd.youtube.yt zaz=Vzzazz.deck+xml zfc=Vfilmit.zfc\
         zfo=Vsoftware602.filler.form-xml-zip zip=Azip zir=Vzul zirz=Vzul zmm=VHandHeld-Entertainment+xml\
         zmt=Cmopac-input zone=Tdns zst=Azstd
        """
}
